-- list_stale_staging: uploads and releases that nobody has touched for hours.
select staging_id
from staging
where touched_at < now() - interval '6 hours'
order by touched_at
limit 1000
