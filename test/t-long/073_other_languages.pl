# The functions in PL/Perl and PL/Python that memory was allocated in, alone and with other
# languages around them.  A function that failed is left behind.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main', "pg_leakhunt.sample_interval = 1\n");
my $session = $node->background_psql('postgres');
my $pid = session_pid($session);

# The frames of routines of the leak that has this size, from the innermost on.
sub routines_of
{
	my ($bytes) = @_;

	return $node->safe_psql('postgres', qq{
		SELECT string_agg(frame, '; ' ORDER BY place) FROM pg_leakhunt_report($pid),
			unnest(stack) WITH ORDINALITY frames(frame, place)
			WHERE live_bytes = $bytes AND function_of(site) = 'leaking_top'
				AND frame ~ ' line [0-9]+\$|^SQL function |^PL/Perl function |^PL/Python function |^DO block'});
}

# Does a server have this language?
sub has_language
{
	my ($language) = @_;

	return $node->psql('postgres', "CREATE EXTENSION $language") == 0;
}

$session->query_safe(q{CREATE FUNCTION leaks(n int) RETURNS void LANGUAGE plpgsql AS $f$
BEGIN
	PERFORM leak_top(n, 1);
END $f$});

SKIP:
{
	skip 'no PL/Perl', 4 if !has_language('plperl');

	$session->query_safe(q{
		CREATE FUNCTION in_perl(n int) RETURNS void LANGUAGE plperl AS $$ spi_exec_query("SELECT leak_top($_[0], 1)"); $$;
		CREATE FUNCTION perl_around(n int) RETURNS void LANGUAGE plperl AS $$ spi_exec_query("SELECT leaks($_[0])"); $$});
	$session->query_safe($_)
		for 'SELECT in_perl(2001)', "DO 'BEGIN PERFORM perl_around(2002); END'",
		q{DO $$ spi_exec_query('SELECT leak_top(2003, 1)'); $$ LANGUAGE plperl};
	is(routines_of(2001), 'PL/Perl function in_perl', 'a function in PL/Perl is the routine');
	is(routines_of(2002), 'leaks(integer) line 3; PL/Perl function perl_around; DO block line 1',
		'a function in PL/Perl stands between two in PL/pgSQL');
	is(routines_of(2003), 'DO block', 'a DO block in PL/Perl is named');
	$session->query_safe(q{CREATE FUNCTION failing_perl() RETURNS void LANGUAGE plperl AS $$ elog(ERROR, 'over'); $$});
	$session->query_safe("DO 'BEGIN PERFORM failing_perl(); EXCEPTION WHEN OTHERS THEN PERFORM leak_top(2004, 1); END'");
	is(routines_of(2004), 'DO block line 1', 'a function in PL/Perl that failed is left behind');
}

SKIP:
{
	skip 'no PL/Python', 4 if !has_language('plpython3u');

	$session->query_safe(q{
		CREATE FUNCTION in_python(n int) RETURNS void LANGUAGE plpython3u AS $$ plpy.execute("SELECT leak_top(%d, 1)" % n) $$;
		CREATE FUNCTION python_around(n int) RETURNS void LANGUAGE plpython3u AS $$ plpy.execute("SELECT leaks(%d)" % n) $$});
	$session->query_safe($_)
		for 'SELECT in_python(2011)', "DO 'BEGIN PERFORM python_around(2012); END'",
		q{DO $$ plpy.execute('SELECT leak_top(2013, 1)') $$ LANGUAGE plpython3u};
	is(routines_of(2011), 'PL/Python function in_python', 'a function in PL/Python is the routine');
	is(routines_of(2012), 'leaks(integer) line 3; PL/Python function python_around; DO block line 1',
		'a function in PL/Python stands between two in PL/pgSQL');
	is(routines_of(2013), '', 'a DO block in PL/Python cannot be told, and is not');
	$session->query_safe(q{CREATE FUNCTION failing_python() RETURNS void LANGUAGE plpython3u AS $$ raise Exception('over') $$});
	$session->query_safe("DO 'BEGIN PERFORM failing_python(); EXCEPTION WHEN OTHERS THEN\nPERFORM leak_top(2014, 1); END'");
	is(routines_of(2014), 'DO block line 2', 'a function in PL/Python that failed is left behind');
}

$session->quit;
$node->stop;
done_testing();
