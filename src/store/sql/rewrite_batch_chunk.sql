-- rewrite_batch_chunk: puts a chunk without erased cells in the place of the one before.
update batch_chunk
set payload = $5
where dataset_id = $1 and batch_id = $2 and purpose = $3 and sequence = $4
