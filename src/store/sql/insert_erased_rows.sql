-- insert_erased_rows: marks places whose cells are erased.
insert into erased_row (dataset_id, batch, row_number, deletion, tuple)
select $1, e.batch, e.row_number, $2, e.tuple
from unnest($3::integer[], $4::bigint[], $5::bytea[]) as e (batch, row_number, tuple)
