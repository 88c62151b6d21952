-- insert_front: stores a front without its solutions.
insert into front (job_id, summary)
values ($1, $2::text::json)
