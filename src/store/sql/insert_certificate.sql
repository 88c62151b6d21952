-- insert_certificate: stores the proof of a front.
insert into certificate (job_id, body)
values ($1, $2::text::json)
