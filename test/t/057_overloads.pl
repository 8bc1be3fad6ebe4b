# Functions that somebody has put into the extension's schema, or into the search_path of
# a superuser, and that have names of ours or of the system's: no program and no query of
# monitoring/ calls one, or fails for it.  Needs the programs, and a server's log.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Exporting;
use IPC::Run;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main');
my $directory = PostgreSQL::Test::Utils::tempdir;
my $dsn = '--dsn=host=' . $node->host . ' port=' . $node->port . ' dbname=postgres';

# Each function says that it was called, and where.
sub overload
{
	my ($name, $arguments, $type) = @_;

	ask($node, qq{CREATE FUNCTION public.$name($arguments) RETURNS $type LANGUAGE plpgsql AS
		\$\$ BEGIN RAISE LOG 'hostile $name was called'; RETURN NULL; END \$\$});
}
# ours, with the same names of arguments in another order, with a better or another type, and with more
overload('pg_leakhunt_pprof', 'growth bool, target text, base text, peak bool, types text[], labels text[], symbolize bool, helpers bool, max_samples int, max_bytes int', 'bytea');
overload('pg_leakhunt_pprof', 'target varchar, growth bool, base text, peak bool, types text[], labels text[], symbolize bool, helpers bool, max_samples bigint, max_bytes numeric', 'bytea');
overload('pg_leakhunt_pprof', 'target text, growth bool, base text, peak bool, types text[], labels text[], symbolize bool, helpers bool, max_samples int, VARIADIC max_bytes int[]', 'bytea');
overload('pg_leakhunt_metrics', 'more int DEFAULT 1', 'bytea');
# the system's, with types that fit better
overload('quote_ident', 'name', 'text');
overload('pg_has_role', 'text, text', 'bool');
overload('set_config', 'text, text, text', 'text');
overload('format', 'text, text, text', 'text');
overload('format', 'text, text, text, text', 'text');
overload('format', 'text, name, text', 'text');

sub calls_none
{
	my ($name) = @_;
	my @called = slurp_file($node->logfile) =~ /LOG:  (hostile \w+ was called)/g;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is("@called", '', "$name calls no function of others");
}

SKIP:
{
	skip "there is no psycopg2 for the system's python3", 7
	  if system("/usr/bin/python3 -c 'import psycopg2' 2>/dev/null") != 0;
	my ($status, $stderr) = run_export({}, 'push', $dsn, $directory);
	is("$status$stderr", '0', 'push takes a profile');
	my $program = start_service({}, $dsn);
	for my $page ([ '/metrics', qr/^pg_leakhunt_up 1$/m ], [ '/debug/pprof/allocs', qr/\A\x1f\x8b/ ])
	{
		my ($head, $body) = exchange(connect_to($program), "GET $page->[0] HTTP/1.0\r\n\r\n");

		like($body, $page->[1], "serve answers $page->[0]");
	}
	stop_program($program);
	calls_none('pg_leakhunt_export');

	# PostgreSQL takes one with more arguments, which have defaults, for as good as ours.
	overload('pg_leakhunt_pprof', 'target text, growth bool, base text, peak bool, types text[], labels text[], symbolize bool, helpers bool, max_samples int, max_bytes int, more int DEFAULT 1', 'bytea');
	($status, $stderr) = run_export({}, 'push', $dsn, $directory);
	like("$status $stderr", qr/^1 .* is not unique .*: somebody has created another function of that name there: drop it, and give the extension a schema/,
		'push says why it cannot tell two functions from each other');
	calls_none('a push that cannot tell two functions from each other');
	ask($node, 'CREATE SCHEMA "a "" %s b"');
	ask($node, 'ALTER EXTENSION pg_leakhunt SET SCHEMA "a "" %s b"');
	($status, $stderr) = run_export({}, 'push', $dsn, $directory);
	is("$status$stderr", '0', 'push takes a profile by an extension whose schema has an odd name');
	ask($node, 'ALTER EXTENSION pg_leakhunt SET SCHEMA public');
}

ask($node, q{ALTER ROLE CURRENT_USER SET pg_leakhunt.sample_interval = '64kB'});
$ENV{PGHOST} = $node->host;
$ENV{PGPORT} = $node->port;
my ($stdout, $stderr) = ('', '');
IPC::Run::run([ 'pg_leakhunt_remove', '-D', $node->data_dir ], '>', \$stdout, '2>', \$stderr);
like($stdout, qr/^  postgres: DROP EXTENSION pg_leakhunt; there$/m, 'pg_leakhunt_remove finds the extension');
like($stdout, qr/^  loaded by shared_preload_libraries = \S*pg_leakhunt/m, 'pg_leakhunt_remove finds the setting');
like($stdout, qr/^  set for role \S+ everywhere: pg_leakhunt.sample_interval=64kB$/m, "pg_leakhunt_remove finds a role's setting");
calls_none('pg_leakhunt_remove');

my $top = "$FindBin::RealBin/../..";
my $queries = 0;
for my $file (glob("$top/monitoring/*.yml $top/monitoring/*.sql"))
{
	for my $query (slurp_file($file) =~ /^\s*(SELECT .*?\n\s*FROM pg_leakhunt_\w+(?:\nGROUP BY [^\n]+)?)\n/msg)
	{
		is($node->psql('postgres', $query), 0, "$file: the query returns");
		$queries++;
	}
}
is($queries, 8, 'each file for an exporter or an agent has a query');
calls_none('monitoring/');

done_testing();
