-- list_deletions: the deletions of a dataset, ascending.
select deletion_id, sequence, rows, subjects, created_at
from deletion
where dataset_id = $1
order by sequence
