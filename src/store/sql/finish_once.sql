-- finish_once: stores the answer under a key that this transaction has taken.
update idempotency
set answer = $2::text::json, dataset_id = $3
where key = $1
