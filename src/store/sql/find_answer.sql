-- find_answer: what was answered under an idempotency key.
select fingerprint, answer
from idempotency
where key = $1
