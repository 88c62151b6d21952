-- delete_dataset_batch_chunks: removes the sealed rows of a dataset, staged ones too.
delete from batch_chunk
where dataset_id = $1
