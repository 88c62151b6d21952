-- put_series_cells: writes cells, new or changed.
insert into series_cell (series_id, class_id, tuple, standing, number, payload)
select $1, c.class_id, c.tuple, c.standing, c.number, c.payload
from unnest($2::bigint[], $3::bytea[], $4::smallint[], $5::bigint[], $6::bytea[])
    as c (class_id, tuple, standing, number, payload)
on conflict (series_id, tuple, standing, number) do update
set class_id = excluded.class_id, payload = excluded.payload
