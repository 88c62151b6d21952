-- find_series_release: which version of which series a release is; no row if of none.
select r.release_id, r.series_id, r.version, r.rendered_as is not null as is_rendered, s.dataset_id, s.demand, s.declaration
from series_release r
join series s using (series_id)
where r.release_id = $1
