-- list_series_releases: the versions of a series, newest first, with their chunks.
select v.version, v.added_chunks, v.moved_chunks, v.retired_chunks, r.record
from series_release v
join release r using (release_id)
where v.series_id = $1 and v.version <= $2
order by v.version desc
