-- insert_reader_key: the key of a partition, wrapped for a reader.
insert into reader_key (reader_id, purpose, wrapped)
values ($1, $2, $3)
