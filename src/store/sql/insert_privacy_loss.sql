-- insert_privacy_loss: notes what a job spends.
insert into privacy_loss (job_id, dataset_id, epsilon, delta)
values ($1, $2, $3::text::numeric, $4::text::numeric)
