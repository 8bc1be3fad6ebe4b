# pg_leakhunt_look, of core files: gdb's gcore makes one of a session, the kernel another one when
# a signal ends it.  Both say what a look at the living session says.  Damaged ones are refused, or
# say what is missing.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use JSON::PP;
use LeakHunt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

needs_programs('gdb', 'gcore');

my $node = PostgreSQL::Test::Cluster->new('plain');
$node->init;
$node->append_conf('postgresql.conf', 'restart_after_crash = off');
# core files are written where a server runs, if they may be
my $may_write = slurp_file('/proc/sys/kernel/core_pattern') =~ /^core$/;
$node->command_ok([ 'pg_ctl', '-c', '-w', '-D', $node->data_dir, '-l', $node->logfile,
	'-o', '--cluster-name=plain', 'start' ], 'a server starts that may write core files');
$node->_update_pid(1);
define_fixture($node, 'leaker');

my $program = $node->config_data('--bindir') . '/pg_leakhunt_look';
my $folder = PostgreSQL::Test::Utils::tempdir();

sub look
{
	my (@arguments) = @_;
	my ($output, $errors) = ('', '');

	IPC::Run::run([ $program, '--format', 'json', @arguments ], '>', \$output, '2>', \$errors);
	return ($output eq '' ? {} : decode_json($output), $errors, $? >> 8, $? & 127);
}

# What is said of a process, but for what only a living one has, and what it may free while it is
# idle, as it is told of changes by others.
sub facts_of
{
	my (@arguments) = @_;
	my ($look, $errors, $status) = look(@arguments);

	is($errors, '', "@arguments: there is no error");
	my %process = %{ $look->{process} };
	my ($list) = grep { $_->{holder} eq 'the variable held_list of leaker.so' } @{ $process{holders} };
	my %facts = (list => $list, bytes => $look->{statistics}[0]{bytes});
	$facts{$_} = $process{$_}
	  for qw(pid version contexts closed_contexts unread_bytes lost_chunks lost_bytes resettable_bytes lost lost_until_reset);
	# gcore does not tell which memory is code
	s/, begins with the address of a function// for map { $_->{kind} } @{ $facts{lost} }, @{ $facts{lost_until_reset} };
	return \%facts;
}

my $session = $node->background_psql('postgres', on_error_stop => 0);
my $pid = session_pid($session);
$session->query_safe("SELECT $_")
  for 'leak_top(200, 30000)', 'leak_cache(2500, 300)', 'leak_child(200, 3000)', 'leak_contexts(200, 3000)', 'hold_in_list(200, 30000)';
my $living = facts_of($pid);
cmp_ok($living->{lost_bytes}, '>', 30000 * 256, 'a living session has lost something');

run_tool('gcore', '-o', "$folder/made", $pid);
is_deeply(facts_of('--core', "$folder/made.$pid"), $living, "gcore's file says the same");
unlike((look('--core', "$folder/made.$pid"))[0]->{text}, qr/could not be read/, 'and is whole');

SKIP:
{
	# another pattern hands core files to a program, or puts them elsewhere
	if (!$may_write)
	{
		note('Core files are written elsewhere.');
		last SKIP;
	}
	kill 'ABRT', $pid;
	wait_until(sub { -s $node->data_dir . "/core" && !-e "/proc/$pid" }, "the kernel writes a core file");
	is_deeply(facts_of('--core', $node->data_dir . '/core'), $living, "the kernel's file says the same");
}

# One that is cut short says so.
my $whole = "$folder/made.$pid";
for my $part (1 .. 7)
{
	my $cut = "$folder/cut";

	system_or_bail('cp', $whole, $cut);
	truncate $cut, (-s $whole) * $part / 8;
	my ($look, $errors, $status, $signal) = look('--core', $cut);
	is($signal, 0, "$part/8 of a core file ends nothing");
	ok($status == 1 && $errors =~ /^pg_leakhunt_look: .*\nHINT:  / || ($look->{text} // '') =~ /of its memory could not be read/,
		'and is refused, or said to be cut short') || diag($errors);
}

# Nothing of it is trusted.
srand($ENV{SEED} // 1);
my $failed = 0;
for my $try (1 .. rounds(50))
{
	open my $file, '+<:raw', $whole or die $!;
	my $size = -s $whole;
	for (1 .. 8)
	{
		seek $file, int(rand($_ % 2 ? 16384 : $size)), 0;
		print $file pack('C', int rand 256);
	}
	close $file;
	my ($look, $errors, $status, $signal) = look('--core', $whole);
	$failed++ if $signal != 0 || $status > 1;
}
is($failed, 0, 'a damaged core file is refused or read, whatever its bytes');

like((look('--core', $0))[1], qr/^pg_leakhunt_look: "\Q$0\E" is no core file that can be read\nHINT/, 'a file of another kind is refused');
like((look('--core', "$folder/none"))[1], qr/could not open file/, 'and one that is not there');

$session->{run}->kill_kill;
$node->stop('immediate', fail_ok => 1);
done_testing;
