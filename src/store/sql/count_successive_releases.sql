-- count_successive_releases: other series of a dataset, and its releases that belong to no series.
select
    (select count(*) from series where dataset_id = $1 and series_id <> $2),
    (
        select count(*)
        from release as r
        where r.dataset_id = $1
            and not exists (select 1 from series_release as s where s.release_id = r.release_id)
    )
