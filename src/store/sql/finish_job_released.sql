-- finish_job_released: hands a job back, if the lease is held; the attempt does not count. Cancelled if that was asked for.
update job
set state = case when cancel_requested then 'cancelled'::job_state else 'queued'::job_state end,
    attempt = attempt - 1,
    phase = case when cancel_requested then 'cancelled' else 'queued again' end,
    progress_at = now(),
    run_after = now(),
    finished_at = case when cancel_requested then now() end,
    lease_token = null,
    lease_expires_at = null
where job_id = $1 and lease_token = $2 and state = 'running'
returning
    job_id, dataset_id, kind, state, outcome, reason, failure, warnings, release_id, series_id, search_space, evaluations,
    fraction, phase, progress_at, attempt, version, created_at, started_at, finished_at
