-- stop_series: notes that a series cannot apply a batch.
update series
set stopped_batch = $2, stopped_column = $3, updated_at = now()
where series_id = $1
