-- finish_job_cancelled: ends a job as cancelled, if the lease is held.
update job
set state = 'cancelled',
    phase = 'cancelled',
    progress_at = now(),
    finished_at = now(),
    lease_token = null,
    lease_expires_at = null
where job_id = $1 and lease_token = $2 and state = 'running'
returning
    job_id, dataset_id, kind, state, outcome, reason, failure, warnings, release_id, series_id, search_space, evaluations,
    fraction, phase, progress_at, attempt, version, created_at, started_at, finished_at
