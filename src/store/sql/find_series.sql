-- find_series: one series.
select
    series_id, dataset_id, name, demand, declaration, version, through_batch, through_deletion, state, received,
    released, pending, suppressed, classes, oldest_pending, withheld, stopped_batch,
    stopped_column, created_at, updated_at
from series
where series_id = $1
