-- Series that guard subjects: in which cohorts each subject has rows, so that its later rows are judged by its history.

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
