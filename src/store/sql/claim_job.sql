-- claim_job: leases the oldest queued job that may run now. Jobs of one series run in order, one at a time.
with next as (
    select job_id
    from job
    where state = 'queued' and run_after <= now()
        and (series_id is null or not exists (
            select
            from job other
            where other.series_id = job.series_id
                and (other.state = 'running'
                    or (other.state = 'queued' and (other.created_at, other.job_id) < (job.created_at, job.job_id)))
        ))
    order by created_at, job_id
    for update skip locked
    limit 1
)
update job
set state = 'running',
    attempt = attempt + 1,
    lease_token = gen_random_uuid(),
    lease_expires_at = now() + make_interval(secs => $1),
    started_at = now(),
    evaluations = 0,
    fraction = 0,
    phase = 'started',
    progress_at = now()
from next, job_spec
where job.job_id = next.job_id and job_spec.job_id = next.job_id
returning job.job_id, job.dataset_id, job_spec.spec, job.attempt, job.lease_token
