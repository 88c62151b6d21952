-- insert_hierarchy: stores a hierarchy version unless the same one is there already.
insert into hierarchy (dataset_id, position, version, digest, declaration)
select $1, $2, coalesce(max(version), 0) + 1, $3, $4::text::json
from hierarchy
where dataset_id = $1 and position = $2
on conflict (dataset_id, position, digest) do nothing
