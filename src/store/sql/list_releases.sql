-- list_releases: a page of releases, newest first, after the given place.
select release_id, record, created_at
from release
where ($1::uuid is null or dataset_id = $1)
    and ($2::timestamptz is null or (created_at, release_id) < ($2, $3::uuid))
order by created_at desc, release_id desc
limit $4
