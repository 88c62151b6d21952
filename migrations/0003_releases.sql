-- Releases: the record and the sealed rows.

create table release (
    release_id uuid constraint release_pkey primary key,
    dataset_id uuid not null constraint release_dataset_id_fkey references dataset on delete cascade,
    job_id uuid not null constraint release_job_id_fkey references job on delete cascade,
    record json not null,
    chunks integer not null constraint release_chunks_check check (chunks >= 0),
    created_at timestamptz not null
);
comment on table release is 'A verified release.';
comment on column release.record is 'The whole record; holds no cell value.';
comment on column release.chunks is 'Chunks of its rows: a lost one is noticed.';
create index release_created_at_idx on release (created_at desc, release_id desc);
create index release_dataset_id_idx on release (dataset_id, created_at desc, release_id desc);
create index release_job_id_idx on release (job_id);

create table release_chunk (
    dataset_id uuid not null,
    release_id uuid not null,
    sequence integer not null constraint release_chunk_sequence_check check (sequence >= 0),
    payload bytea not null,
    constraint release_chunk_pkey primary key (dataset_id, release_id, sequence)
);
alter table release_chunk alter column payload set storage external;
comment on table release_chunk is 'Sealed released rows, in output order; staged before the release is there, like batch_chunk.';
