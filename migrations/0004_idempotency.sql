-- Repeated requests.

create table idempotency (
    key text constraint idempotency_pkey primary key,
    fingerprint bytea not null,
    dataset_id uuid constraint idempotency_dataset_id_fkey references dataset on delete cascade,
    answer json,
    created_at timestamptz not null default now()
);
comment on table idempotency is 'Answers by the caller''s Idempotency-Key, kept 48 hours.';
comment on column idempotency.fingerprint is 'SHA-256 of the request: the key belongs to this one alone.';
comment on column idempotency.dataset_id is 'Dataset that the effect concerns; the answer goes with it.';
comment on column idempotency.answer is 'Status, location and body; null only while the transaction of the effect runs.';
create index idempotency_created_at_idx on idempotency (created_at);
create index idempotency_dataset_id_idx on idempotency (dataset_id) where dataset_id is not null;
