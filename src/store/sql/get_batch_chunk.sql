-- get_batch_chunk: one sealed chunk of a batch.
select payload
from batch_chunk
where dataset_id = $1 and batch_id = $2 and purpose = $3 and sequence = $4
