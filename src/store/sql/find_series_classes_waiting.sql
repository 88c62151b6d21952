-- find_series_classes_waiting: classes in which a row waits since a clock of this range, ascending.
select class_id, token, rows, waiting, waiting_since, key
from series_class
where series_id = $1 and waiting_since between $2 and $3
order by class_id
