-- find_dataset: one dataset with its attributes' figures in declared order.
select
    d.dataset_id, d.declaration, d.rows, d.subjects, d.batches, d.created_at, d.updated_at,
    a.distinct_values, a.hierarchy_digests, l.epsilon as spent_epsilon, l.delta as spent_delta
from dataset d
cross join lateral (
    select
        array_agg(distinct_values order by position) as distinct_values,
        array_agg(hierarchy_digest order by position) as hierarchy_digests
    from attribute
    where dataset_id = d.dataset_id
) a
cross join lateral (
    select coalesce(sum(epsilon), 0)::text as epsilon, coalesce(sum(delta), 0)::text as delta
    from privacy_loss
    where dataset_id = d.dataset_id
) l
where d.dataset_id = $1
