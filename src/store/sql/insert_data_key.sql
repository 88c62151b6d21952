-- insert_data_key: stores a wrapped data key.
insert into data_key (dataset_id, purpose, wrapped)
values ($1, $2, $3)
on conflict do nothing
