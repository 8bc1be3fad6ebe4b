# A year of a server: sessions of all kinds, restarts, crashes, upgrades, full disks, changed
# settings, and leaks that are planted.  The log tells each of these, once, and no other; files,
# descriptors and memory stay within their bounds; and the views answer throughout.
#
# Its dumps are on a disk of their own (SMALL_DISK), and its /dev/shm too (SMALL_SHM).
# MINUTES is how long it takes, SESSIONS about how many there are, and the choices follow from SEED.  See test/year/run.
#
# The year is cut into times of quiet, in which leaks are planted that the log must tell, each
# followed by some events; its last quarter has no restart.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl", $FindBin::RealBin;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes;
use YearBounds;
use YearEntries;
use YearEvents;
use YearLog;
use YearServer;
use YearSessions;
use YearWork;

my $minutes = $ENV{MINUTES} || 3;
my $seed = $ENV{SEED} || 4711;
# clients, of which some have several sessions
my $per_second = ($ENV{SESSIONS} || $minutes * 10000 / 60) / (60 * $minutes) / 1.5;
my $quiet_seconds = 26;
srand($seed);

my @faults;
my $began = YearLog::now();

sub progress
{
	my ($what) = @_;

	append_to_file("$PostgreSQL::Test::Utils::log_path/year.progress", sprintf "%6.1f %s\n", YearLog::now() - $began, $what);
	return;
}

my $server = YearServer->new;
my $node = $server->node;
my $entries = YearEntries->new($server, \@faults);
my $log = YearLog->new($node->data_dir . '/log', $node->logfile, sub { $entries->heed($_[0]) });
my $bounds = YearBounds->new($server, \@faults);
$bounds->{sessions} = sub { $entries->count('sessions') };

# A function in a language, and the pattern of what is known.
sub define_pattern
{
	$node->safe_psql('postgres', q{
		CREATE OR REPLACE FUNCTION remember(n int) RETURNS void LANGUAGE plpgsql AS $f$
		BEGIN
			PERFORM leak_top(1000, n);
		END $f$;
		INSERT INTO pg_leakhunt_suppressions SELECT 'leak_child', 'planted'
			WHERE NOT EXISTS (SELECT FROM pg_leakhunt_suppressions)});
	return;
}

sub prepare
{
	$node->safe_psql('postgres', $_) for
		'CREATE ROLE dba SUPERUSER LOGIN', (map { "CREATE ROLE $_ LOGIN" } qw(app web clumsy stormy)),
		'CREATE ROLE locked_out NOLOGIN', 'GRANT pg_execute_server_program, pg_write_server_files TO app', 'CREATE DATABASE shop',
		'GRANT ALL ON SCHEMA public TO app, web, clumsy';
	$ENV{PGUSER} = 'dba';
	define_leakers($node);
	define_corner_cases($node);
	define_fixture($node, 'incidents');
	define_pattern();
	system_or_bail('pgbench', '-i', '-q', '-d', $node->connstr('postgres'));
	$node->psql('postgres', '', extra_params => [ '-q', '-f', "$FindBin::RealBin/../workload/setup.sql" ]);
	$node->safe_psql('postgres', 'GRANT ALL ON ALL TABLES IN SCHEMA public TO app, web, clumsy');
	return;
}
prepare();

my $sessions = YearSessions->new($server, $node->basedir . '/work', \@faults);
my %due = map { $_ => 0 } qw(session second bounds question disturb);
my $told_faults = 0;
my $started = YearLog::now();

sub is_due
{
	my ($what, $seconds) = @_;
	my $now = YearLog::now();

	return 0 if $now < $due{$what};
	$due{$what} = $now + $seconds;
	return 1;
}

# One session in between is cancelled or terminated, of those that expect it.
sub disturb_one
{
	my $how = int(rand 2) ? 'pg_cancel_backend' : 'pg_terminate_backend';
	my $names = join ', ', map { "'$_'" } grep { $YearWork::kinds{$_}{disturbed} } sort keys %YearWork::kinds;

	my ($status, $pid) = $server->try_to_ask("SELECT pid FROM pg_stat_activity WHERE application_name IN ($names) ORDER BY random() LIMIT 1", 1);

	return if $status || !$pid;
	$server->note_disturbed($pid);
	$server->try_to_ask("SELECT $how($pid)", 1);
	return;
}

# What goes on all the time.
sub tick
{
	$sessions->reap;
	$sessions->draw if $server->{up} && is_due('session', 1 / $per_second);
	if (is_due('second', 1))
	{
		progress("FAULT $faults[ $told_faults++ ]") while $told_faults < @faults;
		$log->read;
		$log->settle;
		$server->disturb if $server->{event} || !$server->{up} || !$server->keeper;
	}
	$sessions->ask_next if is_due('question', 2);
	$bounds->look if $server->{up} && is_due('bounds', 3);
	disturb_one() if $server->{up} && is_due('disturb', 4);
	return;
}

sub pause
{
	my ($seconds) = @_;
	my $end = YearLog::now() + $seconds;

	while (YearLog::now() < $end)
	{
		tick();
		Time::HiRes::sleep(0.05);
	}
	return;
}

# A time of quiet with leaks that the log must tell, and then some events.
my @names = sort keys %YearWork::plants;
my $planted = 0;
sub live_on
{
	my ($events, $number, $goes) = @_;

	progress('quiet, ' . $entries->count('sessions') . ' sessions');
	pause(2);
	$sessions->plant($names[ $planted++ % @names ], must => 1) for 1 .. 3;
	pause($quiet_seconds - 2);
	$events->run($events->draw($goes)) for 1 .. $number;
	return;
}

my $events = YearEvents->new(server => $server, sessions => $sessions, faults => \@faults, pause => \&pause);
my $end = $started + 60 * $minutes;
my $last_quarter = $end - 15 * $minutes;
my $all = keys %YearEvents::events;
my $times = int(45 * $minutes / 50) || 1;
my $at_a_time = $times > $all ? 3 : int($all / $times) + 1;

while (YearLog::now() < $last_quarter)
{
	live_on($events, $at_a_time, 1);
}
# its keeper sees many sessions
$events->run('restart');
progress('no restart from here on');
while (YearLog::now() < $end)
{
	live_on($events, 1, 0);
}
pause(5);
$sessions->wait_for_all;
$log->read;

# What is left while the server runs, and once it has stopped.
my $life = $bounds->longest_life;
my $directory = $bounds->directory;
my $open = $entries->count('sessions');
$server->stop('fast');
$log->read;
$log->settle(1);
is_gone($directory, 'the directory of the profiles is gone with the server');
is_deeply([ glob('/dev/shm/*') ], [], 'nothing is left in /dev/shm') if $ENV{SMALL_SHM};
is_deeply([ grep { !/\.(?:profile|heap)$|\/(?:statements|capacity)\.\d+$/ } glob("$server->{dumps}/*") ], [],
	'the directory of the dumps has dumps and the two records');

# The leaks that were planted.
my @plants = grep { defined $_->{pid} && $_->{ended} } @{ $sessions->{plants} };
$_->{must} &&= !$server->was_disturbed($_) && $_->{said} =~ /^over$/m for @plants;
my @problems = map { $entries->problems_of_plant($_) } @plants;
my @must = grep { $_->{must} && $YearWork::plants{ $_->{plant} }{place} } @plants;
cmp_ok(scalar @must, '>', 0, 'leaks were planted that the log had to tell');
is(join("\n", @problems), '', 'each planted leak is told once, with its place');
is(join("\n", $entries->false_findings), '', 'no other finding is told');
is(join("\n", map { wrong_size($_) } @must), '', 'the planted leaks have their sizes');
cmp_ok($entries->most_findings, '<=', 20, 'at most ten findings are told in a minute');
cmp_ok($entries->most_exits, '<=', 20, 'at most ten exits of a role are told in a minute');

# What else there was to see.
is(join("\n", @faults), '', 'nothing unexpected has happened');
ok($life, 'the keeper was looked at for long');
if ($life)
{
	# a quarter more, and the blocks of a context or two
	cmp_ok($life->{contexts}[1], '<=', $life->{contexts}[0] * 1.25 + (128 << 10), "the keeper's contexts have not grown with the sessions");
	cmp_ok($life->{postmaster}[1][0], '<=', $life->{postmaster}[0][0] * 1.25 + (128 << 10), "the postmaster's contexts have not grown with the sessions");
}
write_figures();
done_testing();

# What a plant has lost, of what it has told of itself: three times the bound are six standard errors.
sub wrong_size
{
	my ($plant) = @_;
	my $truth = $YearWork::plants{ $plant->{plant} }{bytes} * $YearWork::rounds;
	my ($bytes, $error) = $plant->{said} =~ /^held\|(\d+)\|(\d+)/m or return "plant $plant->{plant} tells nothing: $plant->{said}";

	return abs($bytes - $truth) <= 3 * $error ? () : "plant $plant->{plant} lost $truth bytes, not $bytes (+/- $error)";
}

sub write_figures
{
	my $seconds = int(YearLog::now() - $started);
	my $done = join ', ', map { "$_ $events->{done}{$_}" } sort keys %{ $events->{done} };
	my $most = join ', ', map { "$_ $bounds->{most}{$_}" } sort keys %{ $bounds->{most} };
	my @lines = (
		"$seconds s, seed $seed, @{[$entries->count('sessions')]} sessions, $server->{starts} starts, @{[$entries->count('deaths')]} processes killed or ended with an error",
		"events: $done",
		"log: @{[$log->lines]} lines, @{[$entries->count('ours')]} of pg_leakhunt: "
		. join(', ', map { "$_ " . $entries->count($_) } qw(finding exit crash saved limit forecast unpublished full)),
		"at most in a minute: @{[$entries->most_findings]} findings, @{[$entries->most_exits]} exits of a role",
		"planted: @{[scalar @plants]} leaks, @{[scalar @must]} that had to be told",
		"records survived $events->{records} times; $sessions->{asked} questions, the slowest in @{[sprintf '%.1f', $sessions->{slowest}]} s",
		"at most: $most");

	push @lines, sprintf 'the keeper that saw most sessions (%d in %d s): contexts %d kB first, %d kB at last; own memory %d kB, %d kB', $life->{sessions}, $life->{seconds}, map { $_ / 1024 } @{ $life->{contexts} }, @{ $life->{own} }
	  if $life;
	push @lines, sprintf 'the postmaster meanwhile: contexts %d kB, %d kB; own memory %d kB, %d kB', map { $_ / 1024 } map { $life->{postmaster}[$_->[0]][$_->[1]] } [ 0, 0 ], [ 1, 0 ], [ 0, 1 ], [ 1, 1 ]
	  if $life;
	append_to_file("$PostgreSQL::Test::Utils::log_path/year.figures", join '', map { "$_\n" } @lines);
	note($_) for @lines;
	return;
}
