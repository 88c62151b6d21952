-- find_series_cells_in: the cells of cohorts.
select class_id, tuple, standing, number, payload
from series_cell
where series_id = $1 and number = any($2) and standing <> 1
