-- insert_solutions: stores the solutions of a front.
insert into solution (job_id, solution_id, body)
select $1, new.solution_id, new.body::json
from unnest($2::integer[], $3::text[]) as new (solution_id, body)
