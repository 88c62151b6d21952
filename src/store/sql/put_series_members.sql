-- put_series_members: writes the histories of subjects, new or changed.
insert into series_member (series_id, token, cohorts, is_closed, misses_someone)
select $1, m.token, m.cohorts::bigint[], m.is_closed, m.misses_someone
from unnest($2::bytea[], $3::text[], $4::boolean[], $5::boolean[])
    as m (token, cohorts, is_closed, misses_someone)
on conflict (series_id, token) do update
set cohorts = excluded.cohorts, is_closed = excluded.is_closed,
    misses_someone = excluded.misses_someone
