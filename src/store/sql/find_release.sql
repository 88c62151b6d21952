-- find_release: a release's record.
select release_id, record, created_at
from release
where release_id = $1
