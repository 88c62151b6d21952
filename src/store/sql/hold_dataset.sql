-- hold_dataset: keeps a dataset from being deleted until this transaction ends.
select dataset_id
from dataset
where dataset_id = $1
for key share
