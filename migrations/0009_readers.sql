-- Readers: who can open which partition of a dataset with a key of their own.

create table reader (
    reader_id uuid constraint reader_pkey primary key,
    dataset_id uuid not null constraint reader_dataset_id_fkey references dataset on delete cascade,
    name text not null,
    public_key bytea not null constraint reader_public_key_check check (octet_length(public_key) = 32),
    created_at timestamptz not null default now()
);
comment on table reader is 'Holders of a key of their own, per dataset.';
comment on column reader.public_key is 'X25519.';
create index reader_dataset_id_idx on reader (dataset_id, created_at, reader_id);

create table reader_key (
    reader_id uuid not null constraint reader_key_reader_id_fkey references reader on delete cascade,
    purpose key_purpose not null,
    wrapped bytea not null,
    constraint reader_key_pkey primary key (reader_id, purpose),
    constraint reader_key_purpose_check check (purpose in ('identity', 'quasi', 'auxiliary'))
);
comment on table reader_key is 'Data keys of partitions, wrapped for readers by HPKE.';

-- m-invariant series keep the signatures of their rows in the log.

alter table series_chunk drop constraint series_chunk_kind_check;
alter table series_chunk add constraint series_chunk_kind_check check (kind between 0 and 4);
comment on column series_chunk.kind is
    '0: rows that are new in the version. 1: rows that stand in another class since. 2: ids of rows that stand there no more, or elsewhere. 3: the cut nodes. 4: signatures of the rows of an m-invariant series, of its last version alone.';
