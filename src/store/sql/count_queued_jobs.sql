-- count_queued_jobs: how long the queue is.
select count(*)
from job
where state = 'queued'
