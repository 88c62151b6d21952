-- get_schema_version: the last migration that was applied whole.
select max(version)
from _sqlx_migrations
where success
