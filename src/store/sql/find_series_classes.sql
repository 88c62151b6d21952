-- find_series_classes: classes by the tokens of their keys.
select class_id, token, rows, waiting, waiting_since, key
from series_class
where series_id = $1 and token = any($2)
