-- PL/Perl prepares a statement at each call
--
-- A PL/Perl function prepares a statement with spi_prepare each time, and never frees
-- the plan.
--
-- needs: EXISTS (SELECT FROM pg_available_extensions WHERE name = 'plperlu')
-- source: https://www.postgresql.org/docs/current/plperl-builtins.html
-- rests: idle
-- suspect: @(contexts|held|leak|growing) *
-- says: PL/Perl functions have prepared them .* spi_freeplan
-- never: DEALLOCATE what it|prepareThreshold|Verdict: (none|query|malloc)
CREATE FUNCTION pg_temp.look_up(int) RETURNS void LANGUAGE plperlu AS
    $$ spi_prepare('SELECT balance FROM accounts WHERE id = $1', 'int4') for 1 .. $_[0] $$;
SELECT 'SELECT pg_temp.look_up(40)' FROM generate_series(1, 480) \gexec
