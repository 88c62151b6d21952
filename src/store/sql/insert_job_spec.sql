-- insert_job_spec: stores what a job is to do.
insert into job_spec (job_id, spec)
values ($1, $2::text::json)
