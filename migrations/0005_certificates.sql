-- Certificates: the proof of an exact front, served apart from it because it can be long.

create table certificate (
    job_id uuid constraint certificate_pkey primary key constraint certificate_job_id_fkey references front on delete cascade,
    body json not null
);
comment on table certificate is 'Which policies an exact search judged, so that whoever replays it finds every other one excluded. Holds levels and counts, no cell value.';
