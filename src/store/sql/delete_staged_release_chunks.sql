-- delete_staged_release_chunks: removes the chunks of a release that was given up.
delete from release_chunk
where dataset_id = $1 and release_id = $2
