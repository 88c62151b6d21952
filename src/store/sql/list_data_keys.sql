-- list_data_keys: every wrapped data key.
select dataset_id, purpose, wrapped
from data_key
order by dataset_id, purpose
