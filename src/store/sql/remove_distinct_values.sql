-- remove_distinct_values: forgets tokens of values that no row has any more.
delete from distinct_value
where dataset_id = $1 and position = $2 and token = any($3)
