-- renew_lease: prolongs a lease that is still held and notes progress if given; no row if the lease is lost.
update job
set lease_expires_at = now() + make_interval(secs => $3),
    evaluations = coalesce($4, evaluations),
    fraction = coalesce($5, fraction),
    phase = coalesce($6, phase),
    progress_at = case when $6 is null then progress_at else now() end
where job_id = $1 and lease_token = $2 and state = 'running' and lease_expires_at > now()
returning cancel_requested
