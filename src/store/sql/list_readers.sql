-- list_readers: readers of a dataset with their keys, first to last; one row per key.
select reader.reader_id, reader.name, reader.public_key, reader.created_at, reader_key.purpose, reader_key.wrapped
from reader
join reader_key on reader_key.reader_id = reader.reader_id
where reader.dataset_id = $1 and ($2::uuid is null or reader.reader_id = $2)
order by reader.created_at, reader.reader_id, reader_key.purpose
