-- stage_release_chunk: stages a sealed chunk, if its release was not given up meanwhile.
with draft as (
    update staging
    set touched_at = now()
    where staging_id = $1
    returning staging_id, dataset_id
)
insert into release_chunk (dataset_id, release_id, sequence, payload)
select dataset_id, staging_id, $2, $3
from draft
