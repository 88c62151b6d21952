-- lock_backlog: makes submissions count the queue one after the other, so that it never exceeds its limit.
select pg_advisory_xact_lock(7310584035350604901)
