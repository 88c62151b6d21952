-- list_batch_chunks: the batches of a dataset with their chunks, ascending.
select batch_id, sequence, rows, identity_chunks, quasi_chunks, auxiliary_chunks
from batch
where dataset_id = $1
order by sequence
