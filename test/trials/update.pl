# What somebody does who has run the last release, or where there is none the commit before this
# one: installs this version, restarts the server, and runs ALTER EXTENSION UPDATE.  What it has
# left is there as before, or it is said why not.  Needs a build of that version (test/trial), and
# an installation of its own.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Installation;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'there is no build of a former version' if !$ENV{LAST};

my $installation = new_installation();
my %present = installed_paths();

# Install a library, with the control file and the scripts of its version.
sub install
{
	my ($library, @files) = @_;

	put_file($library, "$installation->{pkglibdir}/pg_leakhunt.so");
	put_file($_, "$installation->{sharedir}/extension/" . s{.*/}{}r) for @files;
	return;
}

install("$ENV{LAST}/pg_leakhunt.so", "$ENV{LAST}/pg_leakhunt.control", glob("$ENV{LAST}/sql/pg_leakhunt--*.sql"));
my $node = node_of($installation, 'main');
$node->init;
$node->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = 'pg_leakhunt'
pg_leakhunt.proof_max_memory = 0
pg_leakhunt.dump_min_bytes = 10kB
pg_leakhunt.statement_min_bytes = 0
restart_after_crash = on
$quick_keeper
CONF
$node->start;
define_leakers($node);
define_told($node);
$node->safe_psql('postgres', q{INSERT INTO pg_leakhunt_suppressions VALUES ('known_function', 'a ticket')});

# A session that leaks 64,000 bytes, each of them sampled; it ends in one of these ways.
sub leaves_dump
{
	my ($reason) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = session_pid($session);

	$session->query_safe('SET pg_leakhunt.sample_interval = 1');
	$session->query_safe('SELECT leak_top(64, 1000)');
	if ($reason eq 'crash')
	{
		my $offset = -s $node->logfile;

		kill 'KILL', $pid;
		eval { $session->{run}->finish };
		wait_until(sub { slurp_file($node->logfile, $offset) =~ /ready to accept connections/ }, 'the server restarts');
		wait_for_server($node);
	}
	else
	{
		$session->query_safe("SELECT pg_leakhunt_dump($pid)") if $reason eq 'manual';
		$session->quit;
	}
	wait_until(sub { grep { /\.$reason\.profile$/ } dump_files($node, $pid) }, "there is a dump of the kind $reason");
	my ($dump) = map { s{.*/}{}r } grep { /\.$reason\.profile$/ } dump_files($node, $pid);
	return $dump;
}

# What a dump says that the leak holds.
sub held_in
{
	my ($dump) = @_;

	return $node->safe_psql('postgres', "SELECT sum(live_bytes) FROM pg_leakhunt_report('$dump') WHERE 'leaking_top' = ANY (functions(stack))");
}

# Whether each view answers, as "NAME|WHAT IT SAYS".
sub answers_of_views
{
	return split /\n/, $node->safe_psql(
		'postgres', q{
		SELECT relname, told(format('SELECT count(*) FROM (SELECT * FROM %I) AS all_columns', relname))
		FROM pg_class JOIN pg_depend d ON d.objid = pg_class.oid JOIN pg_extension e ON e.oid = d.refobjid
		WHERE extname = 'pg_leakhunt' AND relkind IN ('v', 'r') AND d.deptype = 'e' ORDER BY 1});
}

# How much is remembered of statements, and of sessions, as far as the version has a function for it.
sub remembered
{
	return {
		map { $_->[0] => $node->safe_psql('postgres', "SELECT told(\$\$ $_->[1] \$\$)") }
		  [ statements => "SELECT calls FROM pg_leakhunt_statements WHERE query LIKE '%leak_top%'" ],
		[ capacity => "SELECT count(*) FROM pg_leakhunt_capacity('1 hour') WHERE username IS NOT NULL" ] };
}

my @dumps = map { leaves_dump($_) } qw(crash manual exit);
is(held_in($_), 64_000, "the former version shows $_") for @dumps;
my $remembered = remembered();
$node->stop;

my $offset = -s $node->logfile;
install("$present{pkglibdir}/pg_leakhunt.so", "$present{sharedir}/extension/pg_leakhunt.control",
	glob("$present{sharedir}/extension/pg_leakhunt--*.sql"));
$node->start;
my ($status, undef, $said) = $node->psql('postgres', 'ALTER EXTENSION pg_leakhunt UPDATE');
is($status, 0, 'the extension is updated, or has this version');
note($said);

my @answers = answers_of_views();
is(join("\n", grep { !/\| ?\d+ rows$|\|$no_match$/ } @answers), '', 'views have an answer, or say that the objects do not match the library');
if (my @unmatched = grep { /\|$no_match$/ } @answers)
{
	# only a commit that was never released can have the version's name and other objects
	like($said, qr/version "[\d.]+" of extension "pg_leakhunt" is already installed/, 'objects of an earlier commit are not updated');
	note("not matching: @unmatched");
	$node->safe_psql('postgres', 'CREATE TABLE kept AS TABLE pg_leakhunt_suppressions; DROP EXTENSION pg_leakhunt CASCADE;
		CREATE EXTENSION pg_leakhunt; INSERT INTO pg_leakhunt_suppressions TABLE kept');
	is(join("\n", grep { !/\|\d+ rows$/ } answers_of_views()), '', 'when they are created again, all views have an answer');
}
is($node->safe_psql('postgres', 'SELECT pattern, reason FROM pg_leakhunt_suppressions'), 'known_function|a ticket', 'suppressions are there');
my @shown;
for my $dump (@dumps)
{
	my ($result, $stdout, $stderr) = $node->psql('postgres', "SELECT * FROM pg_leakhunt_report('$dump')");

	# without a release, the layout may have changed between commits
	if ($result == 0)
	{
		is(held_in($dump), 64_000, "this version shows $dump");
		push @shown, $dump;
	}
	else
	{
		like($stderr, qr/has layout \d+|Its first record is invalid, as in a dump of a commit before 1\.0/, "this version says why it does not show $dump");
	}
}
like($node->safe_psql('postgres', "SELECT string_agg(explanation, '') FROM pg_leakhunt_explain('$_')"), qr/^\d+, client backend, .*private memory when it was last counted\..*\nVerdict: /s, "and explains $_") for @shown;

my $present = remembered();
my $log = slurp_file($node->logfile, $offset);
for my $what (sort grep { $remembered->{$_} =~ /rows$/ } keys %$remembered)
{
	my $is_ignored = $log =~ /pg_leakhunt ignores file "[^"]*" of $what\n.*DETAIL:  Another version of pg_leakhunt has written it\.(?:\n.*HINT:  It is kept as|\n)/;

	ok($is_ignored || $present->{$what} eq $remembered->{$what},
		"$what: $remembered->{$what} " . ($is_ignored ? 'are ignored, and the log says so' : 'are remembered'))
	  or diag($present->{$what});
}
is(join('', slurp_file($node->logfile, $offset) =~ /.*(?:PANIC|TRAP|terminated by signal|pg_leakhunt is inactive).*/g), '', 'no process crashes');
my $new = leaves_dump('manual');
is(held_in($new), 64_000, 'new dumps are made');
done_testing();
