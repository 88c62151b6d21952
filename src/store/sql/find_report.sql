-- find_report: a job's kind and, if it made one, its report.
select job.dataset_id, job.kind, report.body
from job
left join report using (job_id)
where job.job_id = $1
