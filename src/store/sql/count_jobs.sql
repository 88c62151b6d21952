-- count_jobs: jobs by state.
select state, count(*)
from job
group by state
