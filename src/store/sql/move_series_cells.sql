-- move_series_cells: puts the cells of some classes into another as they are.
update series_cell
set class_id = $3
where series_id = $1 and class_id = any($2)
