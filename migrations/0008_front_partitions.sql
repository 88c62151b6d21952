-- Partitions: which rows a solution of a front of classes puts together. Row data, so sealed.

create table front_partition (
    job_id uuid not null,
    solution_id integer not null,
    sequence integer not null constraint front_partition_sequence_check check (sequence >= 0),
    payload bytea not null,
    constraint front_partition_pkey primary key (job_id, solution_id, sequence),
    constraint front_partition_solution_fkey foreign key (job_id, solution_id) references solution on delete cascade
);
alter table front_partition alter column payload set storage external;
comment on table front_partition is 'Sealed: the class of every row of a solution, in the order of the rows, so that a release never searches again.';
comment on column front_partition.sequence is 'Position of the chunk, from 0.';
