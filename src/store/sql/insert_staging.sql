-- insert_staging: begins an upload or a release.
insert into staging (staging_id, dataset_id)
values ($1, $2)
