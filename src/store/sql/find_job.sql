-- find_job: one job.
select
    job_id, dataset_id, kind, state, outcome, reason, failure, warnings, release_id, series_id, search_space, evaluations,
    fraction, phase, progress_at, attempt, version, created_at, started_at, finished_at
from job
where job_id = $1
