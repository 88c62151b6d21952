-- insert_dataset: stores a new dataset without batches.
insert into dataset (dataset_id, declaration)
values ($1, $2::text::json)
