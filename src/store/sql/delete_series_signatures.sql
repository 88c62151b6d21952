-- delete_series_signatures: removes what a series kept for versions before this one.
delete from series_chunk
where series_id = $1 and kind = 4 and version < $2
