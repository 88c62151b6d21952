-- update_declaration: puts another declaration in force.
update dataset
set declaration = $2::text::json, updated_at = now()
where dataset_id = $1
