-- list_erased_rows: erased places of a batch, ascending.
select row_number
from erased_row
where dataset_id = $1 and batch = $2
order by row_number
