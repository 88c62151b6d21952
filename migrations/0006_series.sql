-- Series: one policy kept up to date over a growing dataset; and deletions, which remove rows for good.
--
-- The index of a series holds no value in clear: classes and tuples are known by keyed tokens, everything else is sealed.

alter type key_purpose add value 'series';
comment on type key_purpose is
    'identity: identifying columns. quasi: quasi-identifying columns and subject tokens. auxiliary: sensitive and insensitive columns. release: released rows. token: keyed tokens and digests. series: index and log of series.';
alter type job_outcome add value 'released';
alter type job_outcome add value 'unchanged';
comment on type job_outcome is
    'front: at least one solution. infeasible: no policy meets the demands. stopped: out of time or evaluations, the best so far. released: a series has its next release. unchanged: nothing could be added to a series safely.';

alter table dataset add column deletions integer not null default 0
    constraint dataset_deletions_check check (deletions >= 0);
comment on column dataset.rows is 'Rows over all batches, erased ones not counted.';
comment on column dataset.deletions is 'Deletions; the sequence of the last one.';

create table deletion (
    deletion_id uuid constraint deletion_pkey primary key,
    dataset_id uuid not null constraint deletion_dataset_id_fkey references dataset on delete cascade,
    sequence integer not null constraint deletion_sequence_check check (sequence >= 1),
    rows bigint not null constraint deletion_rows_check check (rows >= 1),
    subjects bigint not null constraint deletion_subjects_check check (subjects >= 0),
    created_at timestamptz not null default now(),
    constraint deletion_sequence_key unique (dataset_id, sequence)
);
comment on table deletion is 'Erasures: how much, never whom.';
comment on column deletion.sequence is 'From 1 without gaps per dataset.';
comment on column deletion.subjects is 'Subjects that have no row left; the rows where no subject is declared.';

create table erased_row (
    dataset_id uuid not null constraint erased_row_dataset_id_fkey references dataset on delete cascade,
    batch integer not null,
    row_number bigint not null constraint erased_row_row_number_check check (row_number >= 0),
    deletion integer not null,
    tuple bytea not null constraint erased_row_tuple_check check (octet_length(tuple) = 16),
    constraint erased_row_pkey primary key (dataset_id, batch, row_number)
);
comment on table erased_row is 'Places of erased rows: their cells are gone, their places stay, so that no other row moves.';
comment on column erased_row.batch is 'Sequence of the batch.';
comment on column erased_row.row_number is 'Row within the batch, from 0.';
comment on column erased_row.deletion is 'Sequence of the deletion.';
comment on column erased_row.tuple is 'Keyed token of the quasi-identifying values: where a series finds the row.';
create index erased_row_deletion_idx on erased_row (dataset_id, deletion);

create table series (
    series_id uuid constraint series_pkey primary key,
    dataset_id uuid not null constraint series_dataset_id_fkey references dataset on delete cascade,
    name text not null,
    demand json not null,
    declaration json not null,
    max_attempts integer not null,
    version integer not null default 0 constraint series_version_check check (version >= 0),
    through_batch integer not null default 0,
    through_deletion integer not null default 0,
    state bytea,
    received bigint not null default 0,
    released bigint not null default 0,
    pending bigint not null default 0,
    suppressed bigint not null default 0,
    classes bigint not null default 0,
    oldest_pending integer,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint series_rows_check check (received = released + pending + suppressed)
);
comment on table series is 'Policies that are kept up to date, with the figures of their last release.';
comment on column series.declaration is 'Declaration in force when it began: its hierarchies stay.';
comment on column series.max_attempts is 'Attempts of its update jobs.';
comment on column series.version is 'Version of the last release; 0 before the first.';
comment on column series.through_batch is 'Sequence of the last batch applied.';
comment on column series.through_deletion is 'Sequence of the last deletion applied.';
comment on column series.state is 'Sealed: cuts and what is known of their nodes; null before the first update.';
comment on column series.oldest_pending is 'Updates that the oldest waiting row has seen since it arrived; null if none waits.';
create index series_created_at_idx on series (created_at desc, series_id desc);
create index series_dataset_id_idx on series (dataset_id, created_at desc, series_id desc);

create table series_class (
    series_id uuid not null constraint series_class_series_id_fkey references series on delete cascade,
    class_id bigint not null,
    token bytea not null constraint series_class_token_check check (octet_length(token) = 16),
    nodes bytea[] not null,
    rows bigint not null constraint series_class_rows_check check (rows >= 0),
    waiting bigint not null constraint series_class_waiting_check check (waiting >= 0),
    waiting_since integer,
    key bytea not null,
    constraint series_class_pkey primary key (series_id, class_id),
    constraint series_class_token_key unique (series_id, token) deferrable initially deferred,
    constraint series_class_waiting_since_check check ((waiting_since is not null) = (waiting > 0))
);
comment on table series_class is 'Classes of a series.';
comment on column series_class.token is 'Keyed token of its cut nodes.';
comment on column series_class.nodes is 'Keyed tokens of its cut nodes, one per quasi-identifier, bound to series and attribute; their index is the posting lists.';
comment on column series_class.rows is 'Published rows.';
comment on column series_class.waiting is 'Rows that wait.';
comment on column series_class.waiting_since is 'Least clock at which one of those arrived.';
comment on column series_class.key is 'Sealed: its cut nodes.';
create index series_class_nodes_idx on series_class using gin (nodes);
create index series_class_waiting_idx on series_class (series_id, waiting_since) where waiting_since is not null;

create table series_cell (
    series_id uuid not null constraint series_cell_series_id_fkey references series on delete cascade,
    tuple bytea not null constraint series_cell_tuple_check check (octet_length(tuple) = 16),
    standing smallint not null constraint series_cell_standing_check check (standing between 0 and 2),
    number bigint not null,
    class_id bigint not null,
    payload bytea not null,
    constraint series_cell_pkey primary key (series_id, tuple, standing, number)
);
comment on table series_cell is 'Rows of one tuple of quasi-identifying values and one standing.';
comment on column series_cell.tuple is 'Keyed token of the tuple.';
comment on column series_cell.standing is '0 published, 1 waiting, 2 withheld.';
comment on column series_cell.number is 'Cohort; of waiting rows, the clock at which they arrived.';
comment on column series_cell.class_id is 'Class whose cut nodes cover the tuple.';
comment on column series_cell.payload is 'Sealed: the tuple and its rows; bound to series, tuple and standing.';
create index series_cell_class_idx on series_cell (series_id, class_id);
create index series_cell_cohort_idx on series_cell (series_id, number) where standing <> 1;

create table series_chunk (
    series_id uuid not null constraint series_chunk_series_id_fkey references series on delete cascade,
    version integer not null constraint series_chunk_version_check check (version >= 1),
    kind smallint not null constraint series_chunk_kind_check check (kind between 0 and 3),
    sequence integer not null constraint series_chunk_sequence_check check (sequence >= 0),
    payload bytea not null,
    constraint series_chunk_pkey primary key (series_id, version, kind, sequence)
);
alter table series_chunk alter column payload set storage external;
comment on table series_chunk is 'Log of a series: what each release changed. Never rewritten.';
comment on column series_chunk.kind is
    '0: rows that are new in the version. 1: rows that stand in another class since. 2: ids of rows that stand there no more, or elsewhere. 3: the cut nodes.';
comment on column series_chunk.payload is 'Sealed block; released cells, then hidden columns: subject token (if declared) and row id.';

create table series_release (
    release_id uuid constraint series_release_pkey primary key
        constraint series_release_release_id_fkey references release on delete cascade,
    series_id uuid not null constraint series_release_series_id_fkey references series on delete cascade,
    version integer not null constraint series_release_version_check check (version >= 1),
    added_chunks integer not null,
    moved_chunks integer not null,
    retired_chunks integer not null,
    rendered_as uuid,
    constraint series_release_version_key unique (series_id, version)
);
comment on table series_release is 'Which releases are versions of which series.';
comment on column series_release.added_chunks is 'Chunks of the log: a lost one is noticed.';
comment on column series_release.rendered_as is 'Holder of its chunks in release_chunk, once its rows were put together and verified as a whole; null before.';

alter table job add column series_id uuid constraint job_series_id_fkey references series on delete cascade;
comment on column job.series_id is 'Series that it updates; one such job at a time, in order.';
create index job_series_id_idx on job (series_id, created_at, job_id) where series_id is not null;
