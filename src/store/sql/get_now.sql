-- get_now: database time.
select now()
