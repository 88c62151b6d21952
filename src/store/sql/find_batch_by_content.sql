-- find_batch_by_content: the first batch with the same content.
select batch_id, sequence
from batch
where dataset_id = $1 and content_token = $2
order by sequence
limit 1
