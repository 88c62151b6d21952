-- insert_series_release: makes a release a version of a series.
insert into series_release (release_id, series_id, version, added_chunks, moved_chunks, retired_chunks)
values ($1, $2, $3, $4, $5, $6)
