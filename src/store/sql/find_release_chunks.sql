-- find_release_chunks: where a release's chunks are and how many.
select r.dataset_id, coalesce(v.rendered_as, r.release_id) as holder_id, r.chunks
from release r
left join series_release v using (release_id)
where r.release_id = $1
