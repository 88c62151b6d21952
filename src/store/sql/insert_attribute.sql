-- insert_attribute: stores what changes about an attribute; its hierarchy version must be there.
insert into attribute (dataset_id, position, hierarchy_digest)
values ($1, $2, $3)
