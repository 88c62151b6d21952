-- delete_reader: removes a reader and its wrapped keys.
delete from reader
where dataset_id = $1 and reader_id = $2
