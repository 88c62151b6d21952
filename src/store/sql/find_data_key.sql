-- find_data_key: a wrapped data key; null if it was destroyed, no row if there is no such dataset.
select data_key.wrapped
from dataset
left join data_key on data_key.dataset_id = dataset.dataset_id and data_key.purpose = $2
where dataset.dataset_id = $1
