-- cancel_job: cancels a queued job at once and asks the worker of a running one to stop; no row if it ended before.
update job
set state = case when state = 'queued' then 'cancelled'::job_state else state end,
    phase = case when state = 'queued' then 'cancelled' else phase end,
    progress_at = case when state = 'queued' then now() else progress_at end,
    finished_at = case when state = 'queued' then now() end,
    cancel_requested = true
where job_id = $1 and state in ('queued', 'running')
returning
    job_id, dataset_id, kind, state, outcome, reason, failure, warnings, release_id, series_id, search_space, evaluations,
    fraction, phase, progress_at, attempt, version, created_at, started_at, finished_at
