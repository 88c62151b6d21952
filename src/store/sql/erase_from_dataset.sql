-- erase_from_dataset: counts a deletion, its rows and its subjects.
update dataset
set rows = rows - $2, subjects = subjects - $3, deletions = deletions + 1, updated_at = now()
where dataset_id = $1
