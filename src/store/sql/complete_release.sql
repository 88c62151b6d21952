-- complete_release: completes the record of a release whose rows were rendered after it was made.
update release
set record = $2::text::json, chunks = $3
where release_id = $1
