-- add_batch_to_dataset: counts a new batch, its rows and its new subjects.
update dataset
set rows = rows + $2, subjects = subjects + $3, batches = batches + 1, updated_at = now()
where dataset_id = $1
