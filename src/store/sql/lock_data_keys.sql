-- lock_data_keys: keeps others from making or changing data keys until the transaction ends.
lock table data_key in share row exclusive mode
