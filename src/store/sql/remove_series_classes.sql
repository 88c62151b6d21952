-- remove_series_classes: removes classes.
delete from series_class
where series_id = $1 and class_id = any($2)
