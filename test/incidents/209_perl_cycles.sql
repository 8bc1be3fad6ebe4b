-- Perl's values that refer to each other
--
-- Each of 1,500 calls of a function in PL/Perl makes a hash that refers to itself, with a
-- text of 100 kB. Perl counts references, so it never frees them: 150 MB from malloc.
--
-- source: https://github.com/Perl/perl5/issues/5139
-- needs: EXISTS (SELECT FROM pg_extension WHERE extname = 'plperlu')
-- suspect: malloc - -
-- says: libperl
-- says: PL/Perl
-- says: Until this is fixed, limit how long such connections live|pg_terminate_backend|max lifetime
-- never: Verdict: (leak|held|query|contexts|growing|none|mapped)
CREATE FUNCTION build_tree(bytes int) RETURNS int LANGUAGE plperlu AS
    $$ my $tree = { text => 'x' x $_[0] }; my $leaf = { parent => $tree }; $tree->{leaf} = $leaf; return length $tree->{text}; $$;
SELECT 'SELECT sum(build_tree(100000)) FROM generate_series(1, 25);', 'SELECT pg_sleep(0.1);' FROM generate_series(1, 60) \gexec
