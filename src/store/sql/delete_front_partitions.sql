-- delete_front_partitions: forgets which rows the solutions of a dataset's fronts put together.
delete from front_partition
using job
where job.job_id = front_partition.job_id and job.dataset_id = $1
