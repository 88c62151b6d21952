-- remove_series_cells: removes cells that have no row left.
delete from series_cell
using unnest($2::bytea[], $3::smallint[], $4::bigint[]) as c (tuple, standing, number)
where series_id = $1
    and series_cell.tuple = c.tuple and series_cell.standing = c.standing and series_cell.number = c.number
