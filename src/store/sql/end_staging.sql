-- end_staging: ends an upload or a release: its chunks count from now on, or are to be removed.
delete from staging
where staging_id = $1
returning dataset_id
