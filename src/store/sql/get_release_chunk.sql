-- get_release_chunk: one sealed chunk of a release.
select payload
from release_chunk
where dataset_id = $1 and release_id = $2 and sequence = $3
