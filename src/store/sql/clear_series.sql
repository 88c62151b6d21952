-- clear_series: forgets the index of a series that has published nothing.
with
    cells as (delete from series_cell where series_id = $1),
    members as (delete from series_member where series_id = $1)
delete from series_class
where series_id = $1
