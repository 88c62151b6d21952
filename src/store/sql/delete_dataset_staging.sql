-- delete_dataset_staging: voids every upload and release under way; waits for the chunk that is being staged.
delete from staging
where dataset_id = $1
