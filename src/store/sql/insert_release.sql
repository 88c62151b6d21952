-- insert_release: makes a staged release a release.
insert into release (release_id, dataset_id, job_id, record, chunks, created_at)
values ($1, $2, $3, $4::text::json, $5, $6)
