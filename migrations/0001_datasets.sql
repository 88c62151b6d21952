-- Datasets, their keys, hierarchies, batches and sealed rows. Times are always the database's.
--
-- Bodies that are only stored and given back are `json`, not `jsonb`: it keeps them word for word (order of fields, form
-- of numbers) and takes every character that JSON can write.

create table dataset (
    dataset_id uuid constraint dataset_pkey primary key,
    declaration json not null,
    rows bigint not null default 0 constraint dataset_rows_check check (rows >= 0),
    subjects bigint not null default 0 constraint dataset_subjects_check check (subjects >= 0),
    batches integer not null default 0 constraint dataset_batches_check check (batches >= 0),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);
comment on table dataset is 'A table that grows by batches.';
comment on column dataset.dataset_id is 'UUIDv7.';
comment on column dataset.declaration is 'Attributes, roles, hierarchies now in force, with attributes that the first batch added.';
comment on column dataset.rows is 'Rows over all batches.';
comment on column dataset.subjects is 'Distinct subjects over all batches; the rows where no subject is declared.';
comment on column dataset.batches is 'Batches; the sequence of the last one.';
comment on column dataset.updated_at is 'When a batch or a hierarchy last changed it.';
create index dataset_created_at_idx on dataset (created_at desc, dataset_id desc);

create table hierarchy (
    dataset_id uuid not null constraint hierarchy_dataset_id_fkey references dataset on delete cascade,
    position integer not null constraint hierarchy_position_check check (position >= 0),
    version integer not null constraint hierarchy_version_check check (version >= 1),
    digest bytea not null constraint hierarchy_digest_check check (octet_length(digest) = 32),
    declaration json not null,
    created_at timestamptz not null default now(),
    constraint hierarchy_pkey primary key (dataset_id, position, version),
    constraint hierarchy_digest_key unique (dataset_id, position, digest)
);
comment on table hierarchy is 'Every version that was ever in force; none is ever changed.';
comment on column hierarchy.position is 'Attribute, counted from 0 in declared order.';
comment on column hierarchy.version is 'From 1 per attribute.';
comment on column hierarchy.digest is 'SHA-256 of the canonical declaration: the name of the version in records.';
comment on column hierarchy.declaration is 'The attribute as declared, with this hierarchy.';

create table attribute (
    dataset_id uuid not null constraint attribute_dataset_id_fkey references dataset on delete cascade,
    position integer not null constraint attribute_position_check check (position >= 0),
    hierarchy_digest bytea,
    distinct_values bigint not null default 0 constraint attribute_distinct_values_check check (distinct_values >= 0),
    constraint attribute_pkey primary key (dataset_id, position),
    constraint attribute_hierarchy_fkey foreign key (dataset_id, position, hierarchy_digest)
        references hierarchy (dataset_id, position, digest)
);
comment on table attribute is 'What changes about an attribute; the rest is in the declaration.';
comment on column attribute.position is 'Counted from 0 in declared order.';
comment on column attribute.hierarchy_digest is 'Version now in force; null without a hierarchy.';
comment on column attribute.distinct_values is 'Distinct non-missing values so far; 0 where they are not counted.';

create type key_purpose as enum ('identity', 'quasi', 'auxiliary', 'release', 'token');
comment on type key_purpose is
    'identity: identifying columns. quasi: quasi-identifying columns and subject tokens. auxiliary: sensitive and insensitive columns. release: released rows. token: keyed tokens and digests.';

create table data_key (
    dataset_id uuid not null constraint data_key_dataset_id_fkey references dataset on delete cascade,
    purpose key_purpose not null,
    wrapped bytea not null,
    created_at timestamptz not null default now(),
    constraint data_key_pkey primary key (dataset_id, purpose)
);
comment on table data_key is 'Data keys, wrapped by the master key. Without its row a partition can never be opened again.';
comment on column data_key.wrapped is 'Nonce, AES-256-GCM ciphertext and tag; bound to dataset and purpose.';

create table staging (
    staging_id uuid constraint staging_pkey primary key,
    dataset_id uuid not null constraint staging_dataset_id_fkey references dataset on delete cascade,
    touched_at timestamptz not null default now()
);
comment on table staging is 'Uploads and releases under way. Their chunks are void unless a commit removes this row.';
comment on column staging.staging_id is 'Id of the batch or release that it may become.';
comment on column staging.touched_at is 'When the last chunk came; the sweep removes what is old.';
create index staging_dataset_id_idx on staging (dataset_id);
create index staging_touched_at_idx on staging (touched_at);

create table batch (
    batch_id uuid constraint batch_pkey primary key,
    dataset_id uuid not null constraint batch_dataset_id_fkey references dataset on delete cascade,
    sequence integer not null constraint batch_sequence_check check (sequence >= 1),
    rows bigint not null constraint batch_rows_check check (rows >= 0),
    trimmed_cells bigint not null constraint batch_trimmed_cells_check check (trimmed_cells >= 0),
    warnings json not null,
    content_token bytea not null,
    repeats_content boolean not null,
    identity_chunks integer not null,
    quasi_chunks integer not null,
    auxiliary_chunks integer not null,
    created_at timestamptz not null default now(),
    constraint batch_sequence_key unique (dataset_id, sequence)
);
comment on table batch is 'Rows appended in one upload; never changed.';
comment on column batch.sequence is 'From 1 without gaps per dataset.';
comment on column batch.content_token is 'Keyed digest of the content.';
comment on column batch.repeats_content is 'The caller knew that an earlier batch has the same content.';
comment on column batch.quasi_chunks is 'Chunks of the partition: a lost one is noticed.';
create unique index batch_content_token_key on batch (dataset_id, content_token) where not repeats_content;

create table batch_chunk (
    dataset_id uuid not null,
    batch_id uuid not null,
    purpose key_purpose not null,
    sequence integer not null constraint batch_chunk_sequence_check check (sequence >= 0),
    payload bytea not null,
    constraint batch_chunk_pkey primary key (dataset_id, batch_id, purpose, sequence),
    constraint batch_chunk_purpose_check check (purpose in ('identity', 'quasi', 'auxiliary'))
);
alter table batch_chunk alter column payload set storage external;
comment on table batch_chunk is
    'Sealed rows of a batch, by partition. No foreign key: a chunk is staged before its batch is there, and staging must not wait for whoever holds the dataset.';
comment on column batch_chunk.payload is 'Sealed, compressed block, about a megabyte at most.';

create table distinct_value (
    dataset_id uuid not null constraint distinct_value_dataset_id_fkey references dataset on delete cascade,
    position integer not null,
    token bytea not null constraint distinct_value_token_check check (octet_length(token) = 16),
    constraint distinct_value_pkey primary key (dataset_id, position, token)
);
comment on table distinct_value is 'Keyed tokens of the values seen, to count them over batches without opening any.';
comment on column distinct_value.token is 'First 16 bytes of the HMAC of the value; of the canonical value for the subject.';
