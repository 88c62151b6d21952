-- find_series_cells_of: the cells of classes.
select class_id, tuple, standing, number, payload
from series_cell
where series_id = $1 and class_id = any($2) and ($3 or standing = 1)
