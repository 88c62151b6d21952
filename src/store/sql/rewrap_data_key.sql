-- rewrap_data_key: puts a data key wrapped by another master key in the place of the one before.
update data_key
set wrapped = $3
where dataset_id = $1 and purpose = $2
