# No role fills the server's log by exits: ten of each role are told in a minute, and
# the next line says how many were not.  Needs sessions that end, a clock that jumps,
# and servers whose sessions load the module, or get it from the postmaster.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Faults;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $turns = 10;
my $exits = 40;
my $conf = <<'CONF';
pg_leakhunt.dump_min_bytes = '1MB'
pg_leakhunt.sample_interval = '32kB'
pg_leakhunt.dump_keep = 1000
CONF
my $dump = 'SELECT leak_top(64, 100000);';

# Sessions of a role end, one after the other; returns what they left in the log.  A
# line comes after its dump.
sub exits_of
{
	my ($node, $role, $count) = @_;
	my $offset = -s $node->logfile;
	my $script = $node->basedir . '/dump.sql';
	my $dumps = sub { return scalar(() = glob($node->data_dir . '/pg_leakhunt/*.exit.profile')) };
	my $before = $dumps->();

	unlink $script;
	append_to_file($script, "$dump\n");
	$node->command_ok([ 'pgbench', '-n', '-C', '-t', $count, '-f', $script, '-h', $node->host, '-p', $node->port, '-U', $role, 'postgres' ],
		"$count sessions of $role end");
	wait_until(sub { $dumps->() == $before + $count && sessions_left($node, $role) == 0 }, 'each leaves a dump');
	return slurp_file($node->logfile, $offset);
}

# The details of the exits of a role that are told in a part of the log.
sub told
{
	my ($role, $log) = @_;

	return $log =~ /DETAIL:  (Process: client backend, user "$role", .*)/g;
}

my $faults = Faults->new('faults');
for my $loading ('shared_preload_libraries', 'session_preload_libraries')
{
	my $node;
	{
		local %ENV = (%ENV, $faults->environment);
		$node = new_server($loading, "shared_preload_libraries = ''\n$loading = 'pg_leakhunt'\n$conf");
	}
	$node->safe_psql('postgres', "CREATE ROLE $_ LOGIN") for qw(flooding other);

	my @lines = told('flooding', exits_of($node, 'flooding', $exits));
	is(scalar @lines, $turns, "$loading: ten of many exits of a role are told");
	like($lines[-1], qr/  Further exits of this role are not logged until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\S+\.  Statement: /, "$loading: the last of them says so");
	is(scalar(grep { /not logged/ } @lines), 1, "$loading: the others do not");
	my @others = told('other', exits_of($node, 'other', 1));
	is(scalar @others, 1, "$loading: an exit of another role is told meanwhile");
	unlike($others[0], qr/not logged/, "$loading: nothing is said there of the first role's");

	# a failure to write a dump has the same turns
	my $directory = $node->data_dir . '/pg_leakhunt';
	rename($directory, "$directory.aside") or die $!;
	append_to_file($directory, 'not a directory');
	my $offset = -s $node->logfile;
	$node->safe_psql('postgres', $dump, extra_params => [ '-U', $_ ]) for qw(flooding other);
	wait_until(sub { sessions_left($node) == 0 }, 'both sessions are over');
	my $log = slurp_file($node->logfile, $offset);
	is(() = $log =~ /WARNING:  could not write dump file/g, 1, "$loading: one role has turns left for a WARNING");
	unlink $directory;
	rename("$directory.aside", $directory) or die $!;

	$faults->set_clock(61);
	my $untold = $exits + 1 - $turns;
	@lines = told('flooding', exits_of($node, 'flooding', 2));
	is(scalar @lines, 2, "$loading: in the next minute exits of the role are told again");
	like($lines[0], qr/  $untold more exits of this role were not logged in the minute that began at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\S+\.  Statement: /,
		"$loading: the first line says how many were not");
	unlike($lines[1], qr/not logged/, "$loading: this is said once");
	$faults->set_clock(0);
	$node->stop;
}
done_testing();
