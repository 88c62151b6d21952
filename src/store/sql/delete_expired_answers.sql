-- delete_expired_answers: forgets idempotency keys after 48 hours.
delete from idempotency
where created_at < now() - interval '48 hours'
