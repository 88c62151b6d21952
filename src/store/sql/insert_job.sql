-- insert_job: stores a job, queued or already ended as infeasible.
insert into job (
    job_id, dataset_id, kind, state, outcome, reason, warnings, search_space, fraction, phase, max_attempts, finished_at,
    series_id
)
values (
    $1, $2, $3, $4, $5, $6::text::json, $7::text::json, $8,
    case when $4 = 'succeeded'::job_state then 1 else 0 end, $9, $10,
    case when $4 = 'succeeded'::job_state then now() end, $11
)
