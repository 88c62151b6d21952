-- find_series_cells_at: the cells of tuples.
select class_id, tuple, standing, number, payload
from series_cell
where series_id = $1 and tuple = any($2)
