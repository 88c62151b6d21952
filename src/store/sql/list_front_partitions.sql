-- list_front_partitions: the sealed classes of a solution's rows.
select payload
from front_partition
where job_id = $1 and solution_id = $2
order by sequence
