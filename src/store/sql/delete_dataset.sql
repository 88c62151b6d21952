-- delete_dataset: removes a dataset; keys, batches, jobs, fronts, releases and answers go with it.
delete from dataset
where dataset_id = $1
