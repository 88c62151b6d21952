-- Series that guard subjects, that say what they withhold, and that stop at a batch without losing what came before.
--
-- Guarding subjects takes a table: in which cohorts each subject has rows, so that its later rows are judged by its history.

create table series_member (
    series_id uuid not null constraint series_member_series_id_fkey references series on delete cascade,
    token bytea not null constraint series_member_token_check check (octet_length(token) = 16),
    cohorts bigint[] not null,
    is_closed boolean not null,
    misses_someone boolean not null,
    constraint series_member_pkey primary key (series_id, token)
);
comment on table series_member is 'Subjects of which a series has published rows.';
comment on column series_member.token is 'Keyed token of the subject, bound to the series. It stays when the subject is erased.';
comment on column series_member.cohorts is 'Cohorts in which it has rows, ascending: its history.';
comment on column series_member.is_closed is 'A published row of it was erased: nothing more is published of it.';
comment on column series_member.misses_someone is 'Somebody of the same history was erased, and rows of it withheld for that.';

alter table series add column withheld bigint not null default 0;
comment on column series.withheld is 'Of the suppressed rows, those that were published and are withheld for good, because part of their group was erased.';
alter table series add column stopped_batch integer;
comment on column series.stopped_batch is 'Sequence of the batch that could not be applied, with all later ones: a value has no place in the hierarchies of the series; null if none.';
alter table series add column stopped_column text;
comment on column series.stopped_column is 'Column of that value.';
