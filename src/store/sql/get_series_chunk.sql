-- get_series_chunk: one sealed block of the log of a series.
select payload
from series_chunk
where series_id = $1 and version = $2 and kind = $3 and sequence = $4
