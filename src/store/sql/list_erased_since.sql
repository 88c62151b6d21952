-- list_erased_since: rows that deletions of a range erased.
select batch, row_number, tuple
from erased_row
where dataset_id = $1 and deletion > $2 and deletion <= $3 and batch <= $4
order by batch, row_number
