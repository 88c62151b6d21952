-- render_series_release: marks a release of a series as rendered; no row if another request was first.
update series_release
set rendered_as = $2
where release_id = $1 and rendered_as is null
returning version
