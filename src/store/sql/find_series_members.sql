-- find_series_members: the histories of subjects by token.
select token, cohorts, is_closed, misses_someone
from series_member
where series_id = $1 and token = any($2)
