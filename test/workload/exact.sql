-- A round of a session that is sampled all the time and never cancelled, so that
-- all that it holds at the end can be accounted for.
\ir ddl.sql
\ir subtransactions.sql
\ir cursors.sql
\ir copy.sql
\ir parallel.sql
\ir prepared.sql
\ir notify.sql
\ir freed.sql
\ir leaks.sql
