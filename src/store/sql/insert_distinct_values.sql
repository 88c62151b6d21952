-- insert_distinct_values: adds tokens of values; how many were new is the count of rows.
insert into distinct_value (dataset_id, position, token)
select $1, $2, unnest($3::bytea[])
on conflict do nothing
