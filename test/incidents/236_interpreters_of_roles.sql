-- An interpreter of Perl for each role
--
-- A pool's session runs a function in PL/Perl as each of 80 roles, by SET ROLE. PL/Perl
-- makes an interpreter for each role, which stays until the session ends.
--
-- source: https://github.com/plv8/plv8/issues/512
-- needs: EXISTS (SELECT FROM pg_available_extensions WHERE name = 'plperl')
-- suspect: malloc - -
-- says: libperl
-- says: PL/Perl
-- says: max lifetime|pg_terminate_backend|[Ee]nd the session
-- never: Verdict: (leak|held|query|contexts|mapped|freed|none)
CREATE EXTENSION IF NOT EXISTS plperl;
CREATE FUNCTION visit(i int) RETURNS int LANGUAGE plperl AS $$ my %page = map { $_ => $_[0] } 1 .. 2000; return scalar keys %page; $$;
SELECT format('CREATE ROLE visitor_%s', i) FROM generate_series(1, 80) i \gexec
SELECT format('SET ROLE visitor_%s', i), format('SELECT visit(%s)', i), 'RESET ROLE', 'SELECT pg_sleep(0.1)' FROM generate_series(1, 80) i \gexec
