-- list_solutions: the solutions of a front, in order.
select body
from solution
where job_id = $1
order by solution_id
