-- update_series: notes what an update has applied and what came of it.
update series
set version = $2,
    through_batch = $3,
    through_deletion = $4,
    state = $5,
    received = $6,
    released = $7,
    pending = $8,
    suppressed = $9,
    classes = $10,
    oldest_pending = $11,
    withheld = $12,
    stopped_batch = $13,
    stopped_column = $14,
    updated_at = now()
where series_id = $1
