-- lock_dataset: the declaration of a dataset that this transaction alone may change until it ends.
select declaration, batches, deletions
from dataset
where dataset_id = $1
for no key update
