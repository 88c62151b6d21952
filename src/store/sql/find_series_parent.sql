-- find_series_parent: the release of a version of a series.
select release_id
from series_release
where series_id = $1 and version = $2
