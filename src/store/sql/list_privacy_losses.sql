-- list_privacy_losses: a page of what the jobs of a dataset have spent, newest first, after the given place.
select job_id, epsilon::text as epsilon, delta::text as delta, created_at
from privacy_loss
where dataset_id = $1 and ($2::timestamptz is null or (created_at, job_id) < ($2, $3::uuid))
order by created_at desc, job_id desc
limit $4
