# What psql shows of the views, in a terminal as people have it: with the commands of the
# reference, no line is wider than the terminal, whatever sessions and functions are called.
# Needs a terminal, sessions of other roles, and a crash, which pg_regress has not.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IO::Pty;
use LeakHunt;
use List::Util qw(max sum);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main', "$quick_keeper\nrestart_after_crash = on\n", extra => [ '--encoding=UTF8', '--locale=C' ]);
my ($section) = slurp_file("$FindBin::RealBin/../../doc/reference.md") =~ /^## In psql\n(.*?)^## /ms;
my ($in_80, $sentences, $in_120) = $section =~ /^```\n(.*?)^```$/msg;

# The lines that psql prints in a terminal, for commands that somebody types.
sub lines_in_terminal
{
	my ($columns, $commands) = @_;
	my $pty = IO::Pty->new;
	my $file = PostgreSQL::Test::Utils::tempdir() . '/commands.sql';
	my $output = '';

	append_to_file($file, $commands);
	my $pid = fork() // die "fork: $!\n";
	if ($pid == 0)
	{
		my $slave = $pty->slave;

		$pty->make_slave_controlling_terminal;
		$slave->set_winsize(24, $columns);
		open STDOUT, '>&', $slave or die "$!\n";
		delete $ENV{COLUMNS};
		$ENV{PGCLIENTENCODING} = 'UTF8';
		exec 'psql', '-X', '-q', '-P', 'pager=off', '-v', 'QUIET=1', '-d', $node->connstr('postgres'), '-f', $file;
	}
	$pty->close_slave;
	while (sysread $pty, my $part, 65536)
	{
		$output .= $part;
	}
	waitpid $pid, 0;
	is($?, 0, 'psql runs the commands');
	unlink $file;
	utf8::decode($output);
	return split /\r?\n/, $output;
}

# The columns that a terminal needs for a line.
sub width
{
	my ($line) = @_;

	return length($line) + (() = $line =~ /[\p{East_Asian_Width: Wide}\p{East_Asian_Width: Fullwidth}]/g);
}

# No line is wider than that.
sub fits
{
	my ($columns, $what, @lines) = @_;
	my @wide = grep { width($_) > $columns } @lines;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	cmp_ok(scalar(@lines), '>', 2, "$what has lines");
	is(join("\n", @wide), '', "$what fits into $columns columns");
}

# The cells of a column of pg_leakhunt, each in one line.
sub overview
{
	my ($column) = @_;

	return split /\n/, $node->safe_psql('postgres', "SELECT regexp_replace(coalesce($column, '-'), '\\s+', ' ', 'g') FROM pg_leakhunt");
}

# A session leaks with each statement, until as much of it is seen.
sub leak_until
{
	my ($session, $statement, $bytes) = @_;
	my $pid = session_pid($session);

	wait_until(
		sub {
			$session->query_safe($statement) for 1 .. 5;
			return ask($node, "SELECT count(*) FROM pg_leakhunt_suspects WHERE pid = $pid AND verdict = 'leak' AND bytes > $bytes") > 0;
		},
		'a session leaks');
}

# Nobody leaks: the row says of how many processes that is known.
my ($judged, $unjudged);
wait_until(
	sub {
		# a process may come or go between the two
		(my $processes, $judged, $unjudged) = $node->safe_psql('postgres', q{
			SELECT (SELECT count(*) FROM pg_leakhunt_processes), (SELECT regexp_replace(who, '\s+', ' ', 'g') FROM pg_leakhunt)}) =~
		  /^(\d+)\|(\d+) process(?:es)? w(?:as|ere) judged\.(?: (\d+) ha(?:s|ve) no verdict yet\.)?$/;
		return defined $processes && $judged + ($unjudged // 0) == $processes;
	},
	'without a finding, all processes are counted');
is(ask($node, q{SELECT count(*) FROM pg_leakhunt_processes WHERE state = 'small'}) > 0 ? $unjudged > 0 : 1, 1, 'those that have too little for a verdict have none');
is(join('|', map { overview($_) } qw(pid::text verdict size what)), '-|none|-|There is no finding.', 'that nobody is suspect is said');
fits(100, 'the overview without a finding', lines_in_terminal(200, 'SELECT * FROM pg_leakhunt;'));
$node->safe_psql('postgres', 'CREATE ROLE stranger LOGIN');
like($node->safe_psql('postgres', q{SELECT regexp_replace(what, '\s+', ' ', 'g') FROM pg_leakhunt}, extra_params => [ '-U', 'stranger' ]),
	qr/^There is no finding\. Processes that you may not see are left out\.$/, 'whoever sees some processes is told so');

# Three sessions of a pool with one leak, and one with names that nobody should choose: as long
# as they may be, with a line break, and of characters that take two columns.
my $hostile = '"日本語の関数 ' . ('名' x 14) . '"';
# PostgreSQL 19 refuses line breaks in the names of roles
my $role = ('w' x 20) . ($node->pg_version < '19devel' ? "\n" : "\t") . ('名' x 14);
$node->safe_psql('postgres', qq{CREATE ROLE "$role" SUPERUSER LOGIN; CREATE SCHEMA $hostile;
	CREATE FUNCTION $hostile.$hostile() RETURNS void LANGUAGE plpgsql AS \$\$BEGIN PERFORM leak_cache(100, 40000); END\$\$});
my @pool = map { $node->background_psql('postgres') } 1 .. 3;
for my $session (@pool)
{
	$session->query_safe(q{SET application_name = 'pool'});
	leak_until($session, 'SELECT leak_top(100, 20000)', 60_000_000);
}
my $odd = $node->background_psql('postgres', extra_params => [ '-U', $role ]);
$odd->query_safe(q{SET application_name = 'an application whose name has all the characters it can have'});
leak_until($odd, "SELECT $hostile.$hostile(), 'a literal that is longer than sixty columns, and that nobody may break', 1 AS one, 2 AS two", 60_000_000);

my @rows = ask($node, q{SELECT count(*), count(*) FILTER (WHERE who ~ '^3\s+processes\s+like\s+pool,') FROM pg_leakhunt});
is($rows[0], '2|1', 'sessions with one cause are one row, and others have their own');
is(ask($node, q{SELECT (SELECT pg_size_bytes(size) BETWEEN 0.9 * s AND 1.1 * s FROM pg_leakhunt WHERE who ~ 'pool')
	FROM (SELECT sum(bytes) AS s FROM pg_leakhunt_suspects WHERE application_name = 'pool') sums}), 't', 'its size is that of all of them');
is(ask($node, q{SELECT pid = (SELECT pid FROM pg_leakhunt_suspects WHERE application_name = 'pool' ORDER BY bytes DESC LIMIT 1) FROM pg_leakhunt WHERE who ~ 'pool'}),
	't', 'its pid is that of the largest');
is(ask($node, q{SELECT bool_and(pg_size_bytes(size) <= before) FROM (SELECT size, lag(pg_size_bytes(size)) OVER () AS before FROM pg_leakhunt) rows}),
	't', 'the largest come first');
like(join('|', overview('what')), qr/at leaking_top .* in TopMemoryContext/, 'what leaks is named');
like(join('|', overview('what')), qr/at leaking_in .* in CacheMemoryContext, by /, 'so is the routine');
is(join('|', overview('next_step')), join('|', ('Report this to the authors of leaker.so, with what pg_leakhunt_suspects shows as "stack".') x 2), 'the next step is that of the evidence');

# The commands of the reference.
fits(100, 'the overview', lines_in_terminal(200, 'SELECT * FROM pg_leakhunt;'));
$node->safe_psql('postgres', 'CREATE SCHEMA pool');
for my $view (qw(suspects processes))
{
	$node->safe_psql('postgres', "CREATE VIEW pool.pg_leakhunt_$view AS SELECT * FROM pg_leakhunt_$view WHERE application_name = 'pool'");
}
fits(80, 'what the reference has for 80 columns', lines_in_terminal(80, "SET search_path = pool, public;\n$in_80"));
fits(80, 'an explanation', lines_in_terminal(80, $sentences));
my ($views, $functions) = split /(?=^\\x auto)/m, $in_120;
fits(120, '\dv+', lines_in_terminal(120, $views));
# psql writes all columns of a function behind FROM
fits(120, '\df+ and \d+', grep { !/^ +FROM _pg_leakhunt_suspects\(\)/ } lines_in_terminal(120, $functions));
# names of roles and applications, and strings of statements, are not broken but so
fits(80, 'in wrapped format what has long names', lines_in_terminal(80, "\\x auto\n\\pset format wrapped\nSELECT * FROM pg_leakhunt_suspects;"));

# What is on the first screen of a finding.
my @screen = (lines_in_terminal(80, "\\x auto\nSELECT * FROM pool.pg_leakhunt_suspects LIMIT 1;"))[ 0 .. 23 ];
for my $column (qw(pid verdict bytes site application_name username next_step evidence))
{
	is(scalar(grep { /^$column +\| \S/ } @screen), 1, "$column is on the first screen");
}
is((sort { $a <=> $b } map { length } split /\n/, ask($node, 'SELECT evidence FROM pool.pg_leakhunt_suspects LIMIT 1'))[-1] > 60 ? 'longer' : 'fits', 'fits', 'evidence has lines of 60 characters');
like(ask($node, 'SELECT evidence FROM pool.pg_leakhunt_suspects LIMIT 1') =~ s/\n/ /gr, qr/has not been freed, .* Next: Report this to the authors/, 'and all of its words');
like(ask($node, q{SELECT query FROM pg_leakhunt_suspects WHERE application_name ~ '^an application'}) =~ s/\s+/ /gr,
	qr/^SELECT \Q$hostile.$hostile\E\(\), 'a literal that is longer than sixty columns, and that nobody may break', 1 AS one, 2 AS two ?;$/,
	'a query has all of its words');
like(ask($node, 'SELECT stack FROM pool.pg_leakhunt_suspects LIMIT 1'), qr/\Aleaking_top\b.*\nleak_top\b.*\n(?s:.*)\n_start.*\z/, 'a stack has a line for each frame');
is(ask($node, q{SELECT count(*) FROM pg_leakhunt_processes WHERE application_name = 'pool'}), 3, 'pg_leakhunt_processes has the application');

# The dead come behind the living, however large they were, and say so.
for my $round (1 .. 5)
{
	$_->query_safe('SELECT leak_top(100, 20000)') for @pool;
}
my $killed = session_pid($odd);
kill 'KILL', $killed;
wait_for_server($node, $killed);
$_->{run}->kill_kill for @pool, $odd;
my $living = $node->background_psql('postgres');
$living->query_safe(q{SET application_name = 'survivor'});
leak_until($living, 'SELECT leak_top(100, 2000)', 0);
my @who = overview('who');
like($who[0], qr/^survivor,/, 'who lives comes first');
is(scalar(grep { !/crashed/ } @who[ 1 .. $#who ]), 0, 'all behind have crashed');
my $dead = ask($node, q{SELECT count(*) FROM pg_leakhunt_suspects WHERE process_state = 'crashed' AND application_name = 'pool'});
cmp_ok($dead, '>', 0, 'what has crashed has findings');
is(join('|', grep { /pool/ } @who), $dead == 1 ? 'crashed: pool, postgres@ postgres' : "$dead crashed processes like pool, postgres@ postgres",
	'of one cause they are one row');
fits(100, 'the overview after a crash', lines_in_terminal(200, 'SELECT * FROM pg_leakhunt;'));
is(ask($node, q{SELECT application_name FROM pg_leakhunt_processes WHERE state = 'crashed' AND application_name = 'pool' LIMIT 1}),
	'pool', 'pg_leakhunt_processes has the application of a process that is gone');

# What is suppressed is no finding, but it is told that there is some.
$node->safe_psql('postgres', q{INSERT INTO pg_leakhunt_suppressions VALUES ('leaking_top'), ('leaking_in')});
like((overview('what'))[0], qr/^There is no finding\. \d findings? (?:is|are) hidden by pg_leakhunt_ ?suppressions\.$/, 'hidden findings are mentioned');
$living->quit;
done_testing();
