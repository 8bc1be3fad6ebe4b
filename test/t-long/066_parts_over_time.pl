# What the parts of a process held over time: a family of contexts and a call site that
# grow and rest, of a process, of its dump, and of one that was killed.  Needs several
# seconds of a session's life, and files.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Dumps;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main', <<'CONF');
pg_leakhunt.sample_interval = 4kB
restart_after_crash = on
CONF
$node->safe_psql('postgres', q{
	CREATE ROLE plain LOGIN;
	CREATE FUNCTION prepare_some(first int, last int) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN first..last LOOP
			EXECUTE format('PREPARE kept%s AS SELECT count(*) FROM pg_class WHERE relname = $1 AND oid > %s', i, i);
		END LOOP;
	END $$});
my $plans = 'prepared statements and cached plans';
my $session = $node->background_psql('postgres');
my $pid = session_pid($session);

sub points
{
	return ask($node, "SELECT count(*) FROM pg_leakhunt_history($pid) WHERE name = 'live_bytes'");
}

# Let the session work until its history has a number of points more.
sub wait_for_points
{
	my ($count, $name) = @_;
	my $wanted = points() + $count;

	wait_until(sub { $session->query_safe('SELECT 1'); points() >= $wanted }, $name);
	return;
}

# The figures of a part at all points; an unknown one is empty.
sub figures
{
	my ($source, $by, $part, $figure) = @_;
	my $rows = ask($node, "SELECT coalesce($figure\::text, '-') FROM pg_leakhunt_history($source, '$by') WHERE $part ORDER BY at");

	return map { $_ eq '-' ? '' : $_ } split /\n/, $rows;
}

# It prepares statements and leaks, step by step, and then rests.
$session->query_safe("SELECT leak_top(1000, 9000)");
wait_for_points(2, 'a session that holds 9 MB has a history');
for my $step (0 .. 4)
{
	$session->query_safe("SELECT prepare_some($step * 300, $step * 300 + 299)");
	$session->query_safe('SELECT leak_top(1000, 4000)');
	wait_for_points(1, "step $step is in the history");
}
wait_for_points(1, 'the last step is in the history');
my $rests_since = points() - 1;
wait_for_points(3, 'the history has a rest');

# From now on it can't count because somebody asks: all questions are about the same points.
kill 'STOP', $pid;
my @plans = figures($pid, 'family', "name = '$plans'", 'bytes');
my @numbers = figures($pid, 'family', "name = '$plans'", 'contexts');
my @site = figures($pid, 'site', "function_of(name) = 'leaking_top'", 'bytes');

# A part rises, is not known before, and does not change in the end.
sub rises_and_rests
{
	my ($what, $least, @figures) = @_;
	my @known = grep { $_ ne '' } @figures;

	is(scalar(@figures), points(), "$what has a row for each point");
	is($figures[0], '', "$what is null at the first point");
	is(scalar(grep { $_ eq '' } @figures[ -@known .. -1 ]), 0, "$what is known from some point on");
	is(join(' ', @known), join(' ', sort { $a <=> $b } @known), "$what never falls");
	cmp_ok($known[-1] - $known[0], '>=', $least, "$what rises");
	is(scalar(grep { $_ != $known[-1] } @figures[ $rests_since .. $#figures ]), 0, "$what rests");
	return;
}
rises_and_rests('a family', 4 * 1024 * 1024, @plans);
rises_and_rests('the number of contexts of a family', 1000, @numbers);
rises_and_rests('a call site', 16_000_000, @site);

is( ask($node, "SELECT DISTINCT context_name, contexts IS NULL, stack_id = (SELECT stack_id FROM pg_leakhunt_report($pid) WHERE function_of(site) = 'leaking_top' LIMIT 1) FROM pg_leakhunt_history($pid, by => 'site') WHERE function_of(name) = 'leaking_top'"),
	'TopMemoryContext|t|t', 'a call site has the names and numbers that the report has');
is( ask($node, "SELECT DISTINCT context_name, stack_id FROM pg_leakhunt_history($pid, by => 'family') WHERE name = '$plans'"),
	'|', 'a family has no one context and no stack');
is(ask($node, "SELECT DISTINCT context_name FROM pg_leakhunt_history($pid, by => 'family') WHERE name = 'TopMemoryContext'"),
	'TopMemoryContext', 'contexts that are of no family are one by their name');
is( ask($node, "SELECT count(*) FROM pg_leakhunt_history($pid) h WHERE h.name = 'context_bytes' AND h.bytes + 1024 * 16 < (SELECT sum(bytes) FROM pg_leakhunt_history($pid, 'family') p WHERE p.at = h.at)"),
	'0', 'families never hold more than all contexts');

# The same of its dump.
my $file = ask($node, "SELECT pg_leakhunt_dump($pid)");
is(ask($node, "SELECT count(*) FROM (SELECT * FROM pg_leakhunt_history($pid) EXCEPT SELECT * FROM pg_leakhunt_history('$file')) d"),
	'0', 'a dump has the history of its process');
for my $by ('family', 'site')
{
	cmp_ok(ask($node, "SELECT count(*) FROM pg_leakhunt_history('$file', '$by')"), '>=', @site, "a dump has a history by $by");
	is( ask($node, "SELECT count(*) FROM (SELECT * FROM pg_leakhunt_history('$file', '$by') EXCEPT SELECT * FROM pg_leakhunt_history($pid, '$by')) d"),
		'0', "a dump has the history by $by of its process");
}

# Mistakes, and what is not for everybody.
for my $case (
	[ "$pid, 'context'", qr/ERROR:  cannot show a history by "context"\nHINT:  A history is by family or site\./ ],
	[ "'$file', 'Family'", qr/ERROR:  cannot show a history by "Family"/ ],
	[ "'all', 'site'", qr/ERROR:  cannot show this of all processes together/ ],
	[ "NULL::int, 'site'", qr/ERROR:  pid must not be null/ ],
	[ "NULL::text, 'site'", qr/ERROR:  target must not be null/ ],
	[ "'nothing.profile', 'site'", qr/ERROR:  could not open dump file/ ],
	[ "99999999, 'site'", qr/WARNING:  PID 99999999 is not a PostgreSQL server process/ ])
{
	my ($arguments, $message) = @$case;
	my (undef, undef, $stderr) = $node->psql('postgres', "SELECT * FROM pg_leakhunt_history($arguments)");

	like($stderr, $message, "pg_leakhunt_history($arguments) tells the mistake");
}
for my $source ($pid, "'$file'")
{
	my (undef, $stdout, $stderr) = $node->psql('postgres', "SELECT * FROM pg_leakhunt_history($source, 'site')",
		extra_params => [ '-U', 'plain' ]);

	is($stdout, '', "a plain role sees no history of $source");
	like($stderr, qr/permission denied for/, "a plain role is told that it may not see $source");
}

# A profile without room for a course, as its owner says in the header.
write_dump($node->data_dir . '/pg_leakhunt/77.1.manual.profile', pid => 77, sites => [ {} ], courses_refused => 1);
my (undef, undef, $notice) = $node->psql('postgres', "SELECT * FROM pg_leakhunt_history('77.1.manual.profile', 'site')");
like($notice, qr/NOTICE:  the history of process 77 is incomplete\nDETAIL:  Its profile is full\.\nHINT:  pg_leakhunt\.max_profile_size/,
	'it is said that a part found no room');

# And of a process that was killed.
kill 'KILL', $pid;
wait_for_server($node, $pid);
$session->{run}->kill_kill;
is(join(' ', figures($pid, 'family', "name = '$plans'", 'bytes')), join(' ', @plans), 'the course of a family of a killed process stays');
is(join(' ', figures($pid, 'site', "function_of(name) = 'leaking_top'", 'bytes')), join(' ', @site), 'the course of a call site of a killed process stays');

$node->stop;
done_testing();
