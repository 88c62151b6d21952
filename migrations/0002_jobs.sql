-- Jobs: a lease protocol on one narrow table. Specifications and fronts stand in tables of their own.

create type job_state as enum ('queued', 'running', 'succeeded', 'failed', 'cancelled');
comment on type job_state is
    'queued: waits for a worker. running: a worker holds its lease. succeeded: ended with an outcome. failed: ended without. cancelled: ended on request.';
create type job_outcome as enum ('front', 'infeasible', 'stopped');
comment on type job_outcome is
    'front: at least one solution. infeasible: no policy meets the demands. stopped: out of time or evaluations, the best so far.';

create table job (
    job_id uuid constraint job_pkey primary key,
    dataset_id uuid not null constraint job_dataset_id_fkey references dataset on delete cascade,
    kind text not null,
    state job_state not null,
    outcome job_outcome,
    reason json,
    failure json,
    warnings json not null,
    release_id uuid,
    search_space text not null,
    evaluations bigint not null default 0,
    fraction double precision not null default 0,
    phase text not null,
    progress_at timestamptz not null default now(),
    attempt integer not null default 0,
    max_attempts integer not null,
    run_after timestamptz not null default now(),
    lease_token uuid,
    lease_expires_at timestamptz,
    cancel_requested boolean not null default false,
    version bigint not null default 1,
    created_at timestamptz not null default now(),
    started_at timestamptz,
    finished_at timestamptz,
    constraint job_lease_check check (
        (state = 'running') = (lease_token is not null) and (state = 'running') = (lease_expires_at is not null)
    ),
    constraint job_finished_check check ((state in ('succeeded', 'failed', 'cancelled')) = (finished_at is not null)),
    constraint job_outcome_check check ((state = 'succeeded') = (outcome is not null)),
    constraint job_failure_check check ((state = 'failed') = (failure is not null)),
    constraint job_attempt_check check (attempt between 0 and max_attempts),
    constraint job_progress_check check (evaluations >= 0 and fraction between 0 and 1)
);
comment on table job is 'The queue and its history.';
comment on column job.job_id is 'UUIDv7.';
comment on column job.kind is 'Kind of the specification.';
comment on column job.reason is 'Why nothing was found, where infeasible.';
comment on column job.failure is 'Code and words, no cell value.';
comment on column job.warnings is 'What the caller should know.';
comment on column job.release_id is 'Release made when it ended; no foreign key, as the release refers to the job.';
comment on column job.search_space is 'Number of policies, in decimal: it can exceed every integer type.';
comment on column job.evaluations is 'Distinct policies evaluated by this attempt.';
comment on column job.fraction is 'Share of the work done.';
comment on column job.progress_at is 'When progress was last noted.';
comment on column job.attempt is 'Attempts begun; one that the worker hands back does not count.';
comment on column job.run_after is 'Not claimed before: the back-off after a failed attempt.';
comment on column job.lease_token is 'Proof of holding; every write of the worker must show it.';
comment on column job.lease_expires_at is 'When the job is taken from a worker that is silent.';
comment on column job.cancel_requested is 'The worker is to stop.';
comment on column job.version is 'Counts every visible change: the entity tag.';

create index job_queued_idx on job (created_at, job_id) where state = 'queued';
create index job_running_idx on job (lease_expires_at) where state = 'running';
create index job_created_at_idx on job (created_at desc, job_id desc);
create index job_dataset_id_idx on job (dataset_id, created_at desc, job_id desc);

create table job_spec (
    job_id uuid constraint job_spec_pkey primary key constraint job_spec_job_id_fkey references job on delete cascade,
    spec json not null
);
comment on table job_spec is 'What a job is to do, with everything pinned; apart from the job, whose row is rewritten often.';

create table front (
    job_id uuid constraint front_pkey primary key constraint front_job_id_fkey references job on delete cascade,
    summary json not null
);
comment on table front is 'The answer of a search, without its solutions.';

create table solution (
    job_id uuid not null constraint solution_job_id_fkey references front on delete cascade,
    solution_id integer not null constraint solution_id_check check (solution_id >= 0),
    body json not null,
    constraint solution_pkey primary key (job_id, solution_id)
);
comment on table solution is 'One policy of a front.';
comment on column solution.solution_id is 'Position in the front, from 0.';

create function job_count_version() returns trigger language plpgsql as $$
begin
    if (old.state, old.outcome, old.release_id, old.evaluations, old.fraction, old.phase, old.progress_at,
        old.attempt, old.started_at, old.finished_at)
        is distinct from
       (new.state, new.outcome, new.release_id, new.evaluations, new.fraction, new.phase, new.progress_at,
        new.attempt, new.started_at, new.finished_at)
    then
        new.version := old.version + 1;
    end if;
    return new;
end
$$;
comment on function job_count_version is 'Raises the version with every change that a reader of the job can see; a mere renewal of the lease is none.';
create trigger job_count_version before update on job for each row execute function job_count_version();

create function job_notify() returns trigger language plpgsql as $$
begin
    perform pg_notify('kindred_job', coalesce(new.job_id, old.job_id)::text);
    return null;
end
$$;
comment on function job_notify is 'Wakes whoever waits for a job or for work. A wake-up only: readers poll besides.';
create trigger job_notify_insert after insert or delete on job for each row execute function job_notify();
create trigger job_notify_update after update on job for each row
    when (old.version is distinct from new.version or old.cancel_requested is distinct from new.cancel_requested)
    execute function job_notify();
