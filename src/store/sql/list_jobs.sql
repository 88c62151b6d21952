-- list_jobs: a page of jobs, newest first, after the given place.
select
    job_id, dataset_id, kind, state, outcome, reason, failure, warnings, release_id, series_id, search_space, evaluations,
    fraction, phase, progress_at, attempt, version, created_at, started_at, finished_at
from job
where ($1::job_state is null or state = $1)
    and ($2::uuid is null or dataset_id = $2)
    and ($3::timestamptz is null or (created_at, job_id) < ($3, $4::uuid))
order by created_at desc, job_id desc
limit $5
