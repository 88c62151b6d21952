-- find_release_chunks: where a release's chunks are and how many.
select dataset_id, chunks
from release
where release_id = $1
