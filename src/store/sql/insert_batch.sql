-- insert_batch: makes an upload the dataset's next batch.
insert into batch (
    batch_id, dataset_id, sequence, rows, trimmed_cells, warnings, content_token, repeats_content,
    identity_chunks, quasi_chunks, auxiliary_chunks
)
select $1, dataset_id, batches + 1, $3, $4, $5::text::json, $6, $7, $8, $9, $10
from dataset
where dataset_id = $2
returning sequence, created_at
