-- delete_dataset_release_chunks: removes the sealed released rows of a dataset, staged ones too.
delete from release_chunk
where dataset_id = $1
