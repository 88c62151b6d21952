-- reap_jobs: takes jobs from workers that are silent: cancelled if that was asked for, failed if no attempt is left,
-- else queued again with back-off.
with silent as (
    select
        job_id,
        case
            when cancel_requested then 'cancelled'::job_state
            when attempt >= max_attempts then 'failed'::job_state
            else 'queued'::job_state
        end as next_state
    from job
    where state = 'running' and lease_expires_at <= now()
    for update skip locked
)
update job
set state = silent.next_state,
    failure = case
        when silent.next_state = 'failed' then json_build_object(
            'code', 'attempts_exhausted',
            'detail', format('the worker was lost in each of %s attempts', job.attempt)
        )
    end,
    phase = case when silent.next_state = 'queued' then 'queued again' else phase end,
    progress_at = now(),
    run_after = case
        when silent.next_state = 'queued' then now() + make_interval(secs => least(power(2, job.attempt), 60))
        else run_after
    end,
    finished_at = case when silent.next_state <> 'queued' then now() end,
    lease_token = null,
    lease_expires_at = null
from silent
where job.job_id = silent.job_id
