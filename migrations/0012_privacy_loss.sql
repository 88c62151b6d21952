-- Privacy loss: what perturbed jobs have spent, per dataset.

create table privacy_loss (
    job_id uuid constraint privacy_loss_pkey primary key,
    dataset_id uuid not null constraint privacy_loss_dataset_id_fkey references dataset on delete cascade,
    epsilon numeric not null constraint privacy_loss_epsilon_check check (epsilon >= 0),
    delta numeric not null constraint privacy_loss_delta_check check (delta >= 0),
    created_at timestamptz not null default now()
);
comment on table privacy_loss is
    'One row per job that was accepted to perturb rows; never changed, never given back. Sums are compared with the declared budget.';
comment on column privacy_loss.job_id is 'No foreign key: what was spent stays spent, whatever becomes of the job.';
comment on column privacy_loss.epsilon is 'Exact decimal; of local perturbation the sum over attributes.';
comment on column privacy_loss.delta is 'Exact decimal; 0 for local perturbation.';
create index privacy_loss_dataset_id_idx on privacy_loss (dataset_id, created_at desc, job_id desc);
