-- finish_job_failed: ends an attempt that failed, if the lease is held: cancelled if that was asked for, queued again
-- with back-off if another attempt may do better and is left, else failed.
with held as (
    select
        job_id,
        case
            when cancel_requested then 'cancelled'::job_state
            when $4 and attempt < max_attempts then 'queued'::job_state
            else 'failed'::job_state
        end as next_state
    from job
    where job_id = $1 and lease_token = $2 and state = 'running'
    for update
)
update job
set state = held.next_state,
    failure = case when held.next_state = 'failed' then $3::text::json end,
    phase = case when held.next_state = 'queued' then 'queued again' else phase end,
    progress_at = now(),
    run_after = case
        when held.next_state = 'queued' then now() + make_interval(secs => least(power(2, job.attempt), 60))
        else run_after
    end,
    finished_at = case when held.next_state <> 'queued' then now() end,
    lease_token = null,
    lease_expires_at = null
from held
where job.job_id = held.job_id
returning
    job.job_id, dataset_id, kind, state, outcome, reason, failure, warnings, release_id, series_id, search_space, evaluations,
    fraction, phase, progress_at, attempt, version, created_at, started_at, finished_at
