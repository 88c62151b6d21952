-- finish_series_job: ends the update of a series, if the lease is held and nobody wants it cancelled.
update job
set state = 'succeeded',
    outcome = $3,
    reason = $4::text::json,
    release_id = $5,
    warnings = (
        select coalesce(json_agg(w.warning), '[]'::json)
        from (
            select json_array_elements(job.warnings)
            union all
            select json_array_elements($6::text::json)
        ) as w (warning)
    ),
    fraction = 1,
    phase = 'finished',
    progress_at = clock_timestamp(),
    finished_at = clock_timestamp(),
    lease_token = null,
    lease_expires_at = null
where job_id = $1 and lease_token = $2 and state = 'running' and not cancel_requested
returning
    job_id, dataset_id, kind, state, outcome, reason, failure, warnings, release_id, series_id, search_space, evaluations,
    fraction, phase, progress_at, attempt, version, created_at, started_at, finished_at
