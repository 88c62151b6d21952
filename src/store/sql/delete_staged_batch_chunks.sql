-- delete_staged_batch_chunks: removes the chunks of an upload that was given up.
delete from batch_chunk
where dataset_id = $1 and batch_id = $2
