-- insert_report: stores what a job measured.
insert into report (job_id, body)
values ($1, $2::text::json)
