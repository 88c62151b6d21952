-- list_series: a page of series, newest first, after the given place.
select
    series_id, dataset_id, name, demand, declaration, version, through_batch, through_deletion, state, received,
    released, pending, suppressed, classes, oldest_pending, withheld, stopped_batch,
    stopped_column, created_at, updated_at
from series
where ($1::uuid is null or dataset_id = $1)
    and ($2::timestamptz is null or (created_at, series_id) < ($2, $3::uuid))
order by created_at desc, series_id desc
limit $4
