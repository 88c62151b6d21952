-- insert_front_partition: stores one sealed chunk of the classes of a solution's rows.
insert into front_partition (job_id, solution_id, sequence, payload)
values ($1, $2, $3, $4)
