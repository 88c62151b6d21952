-- lock_dataset_for_delete: waits for every transaction that works on the dataset and keeps new ones out.
select dataset_id
from dataset
where dataset_id = $1
for update
