-- put_series_classes: writes classes, new or changed. The nodes of a class come joined, 16 bytes each.
insert into series_class (series_id, class_id, token, nodes, rows, waiting, waiting_since, key)
select
    $1, c.class_id, c.token,
    array(
        select substring(c.nodes from p.place for 16)
        from generate_series(1, octet_length(c.nodes), 16) as p (place)
        order by p.place
    ),
    c.rows, c.waiting, c.waiting_since, c.key
from unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::bigint[], $6::bigint[], $7::integer[], $8::bytea[])
    as c (class_id, token, nodes, rows, waiting, waiting_since, key)
on conflict (series_id, class_id) do update
set token = excluded.token,
    nodes = excluded.nodes,
    rows = excluded.rows,
    waiting = excluded.waiting,
    waiting_since = excluded.waiting_since,
    key = excluded.key
