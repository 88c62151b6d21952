-- list_batches: the batches of a dataset up to a sequence, ascending.
select batch_id, sequence, rows, identity_chunks, quasi_chunks, auxiliary_chunks
from batch
where dataset_id = $1 and sequence <= $2
order by sequence
