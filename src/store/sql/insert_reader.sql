-- insert_reader: a reader of a dataset.
insert into reader (reader_id, dataset_id, name, public_key)
values ($1, $2, $3, $4)
