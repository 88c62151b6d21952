-- insert_series_chunk: adds a sealed block to the log of a series.
insert into series_chunk (series_id, version, kind, sequence, payload)
values ($1, $2, $3, $4, $5)
