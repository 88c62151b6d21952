-- sum_privacy_loss: what the jobs of a dataset have spent.
select coalesce(sum(epsilon), 0)::text as epsilon, coalesce(sum(delta), 0)::text as delta
from privacy_loss
where dataset_id = $1
