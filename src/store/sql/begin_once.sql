-- begin_once: takes an idempotency key for this transaction; waits for another one that has taken it.
insert into idempotency (key, fingerprint)
values ($1, $2)
on conflict (key) do nothing
