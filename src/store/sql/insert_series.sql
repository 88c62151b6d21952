-- insert_series: stores a series that has no release yet.
insert into series (series_id, dataset_id, name, demand, declaration, max_attempts)
values ($1, $2, $3, $4::text::json, $5::text::json, $6)
