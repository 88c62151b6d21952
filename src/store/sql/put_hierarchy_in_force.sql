-- put_hierarchy_in_force: makes a stored version the one that new jobs use.
update attribute
set hierarchy_digest = $3
where dataset_id = $1 and position = $2
