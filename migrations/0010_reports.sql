-- Reports: what jobs that measure found.

alter type job_outcome add value 'measured';
comment on type job_outcome is
    'front: at least one solution. infeasible: no policy meets the demands, or nothing can be measured. stopped: out of time or evaluations, the best so far. released: a series has its next release. unchanged: nothing could be added to a series safely. measured: a report was made.';

create table report (
    job_id uuid constraint report_pkey primary key constraint report_job_id_fkey references job on delete cascade,
    body json not null
);
comment on table report is 'What a job measured, as it is served. Figures over many rows, no cell value.';
