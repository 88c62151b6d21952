-- count_deletions: how many deletions a dataset has seen.
select deletions
from dataset
where dataset_id = $1
