-- stage_batch_chunk: stages a sealed chunk, if its upload was not given up meanwhile.
with upload as (
    update staging
    set touched_at = now()
    where staging_id = $1
    returning staging_id, dataset_id
)
insert into batch_chunk (dataset_id, batch_id, purpose, sequence, payload)
select dataset_id, staging_id, $2, $3, $4
from upload
