-- All rows of a query in Perl
--
-- A block in PL/Perl reads 200,000 rows by spi_exec_query, which keeps all of them in
-- Perl's memory as long as the block runs: some 200 MB from malloc.
--
-- source: https://postgresql.org/docs/15/plperl-builtins.html
-- needs: EXISTS (SELECT FROM pg_extension WHERE extname = 'plperlu')
-- suspect: malloc - -
-- says: libperl
-- says: PL/Perl
-- says: Allocated by (the statement|statements of this form): DO
-- says: pg_cancel_backend
-- never: max lifetime
-- never: Verdict: (leak|held|query|contexts|mapped|none)
DO $$
    my $rows = spi_exec_query("SELECT i, repeat('x', 600) AS line FROM generate_series(1, 200000) i");
    spi_exec_query('SELECT pg_sleep(3600)');
    elog(NOTICE, $rows->{processed});
$$ LANGUAGE plperlu;
