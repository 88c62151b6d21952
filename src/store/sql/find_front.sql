-- find_front: a job's state and, if it succeeded, its front.
select job.dataset_id, job.state, job_spec.spec, front.summary
from job
join job_spec on job_spec.job_id = job.job_id
left join front on front.job_id = job.job_id
where job.job_id = $1
