-- find_certificate: the proof of a job's front, where it has one.
select job.state, certificate.body
from job
left join certificate using (job_id)
where job.job_id = $1
