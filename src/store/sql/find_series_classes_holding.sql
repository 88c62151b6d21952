-- find_series_classes_holding: classes that hold any of these nodes, ascending.
select class_id, token, rows, waiting, waiting_since, key
from series_class
where series_id = $1 and nodes && $2::bytea[]
order by class_id
