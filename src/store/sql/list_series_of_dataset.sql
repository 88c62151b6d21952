-- list_series_of_dataset: the series that a change of a dataset concerns, oldest first.
select series_id, max_attempts
from series
where dataset_id = $1
order by created_at, series_id
