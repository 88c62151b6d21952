-- insert_deletion: notes a deletion as the dataset's next.
insert into deletion (deletion_id, dataset_id, sequence, rows, subjects)
select $1, dataset_id, deletions + 1, $3, $4
from dataset
where dataset_id = $2
returning sequence, created_at
