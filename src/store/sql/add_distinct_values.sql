-- add_distinct_values: counts new values of an attribute.
update attribute
set distinct_values = distinct_values + $3
where dataset_id = $1 and position = $2
