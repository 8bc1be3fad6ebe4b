# Whatever becomes of the child that proves, its session goes on: no zombie stays, and no
# file.  PROOFS says how many there are (200).
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

needs_programs('prlimit');
my $proofs = $ENV{PROOFS} || rounds(200);
my $node = new_server('main', "$quick_keeper\npg_leakhunt.proof_max_memory = 0\n");
my $session = $node->background_psql('postgres');
my $pid = session_pid($session);
my ($out, $err);

$session->query_safe('SET pg_leakhunt.sample_interval = 1');
$session->query_safe('SELECT leak_top(200, 100000)');

# A file of /proc; nothing of a process that is gone.
sub read_if_there
{
	open my $file, '<', $_[0] or return '';
	return join '', <$file>;
}

# The children of the session that are in one of these states.
sub children
{
	my ($states) = @_;

	return grep { read_if_there("/proc/$_/stat") =~ /\) [$states]/ }
	  split ' ', read_if_there("/proc/$pid/task/$pid/children");
}

sub prove
{
	my ($before) = @_;

	$node->psql('postgres', ($before // '') . "SELECT count(*) > 0 FROM pg_leakhunt_proof($pid)", stdout => \$out, stderr => \$err);
}

prove();
is($out, 't', 'the session can be proven');

# Kill children at any moments of their lives, from outside, while one after the other is asked for.
my $questions = $node->basedir . '/questions.sql';
append_to_file($questions, "SELECT count(*) FROM pg_leakhunt_proof($pid);\n" x $proofs);
my $asking = IPC::Run::start(
	[ 'psql', '-X', '-q', '-At', '-d', $node->connstr('postgres'), '-f', $questions ],
	'<', \undef, '>', \my $answers, '2>', \my $problems);
my $killed = 0;

while ($asking->pumpable)
{
	select(undef, undef, undef, rand() * 0.1);
	$killed += kill 'KILL', children('RSDT');
	$asking->pump_nb;
}
$asking->finish;
is(scalar(() = $answers =~ /^\d+$/mg), $proofs, 'each question is answered');
cmp_ok($killed, '>', $proofs / 2, 'most of them by a child that was killed');
is(scalar(() = $problems =~ /could not be proven/g), scalar(() = $answers =~ /^0$/mg), 'which is said');
prove();
is($out, 't', "it can be proven after $proofs were killed");
is($session->query_safe('SELECT 1'), '1', 'the session goes on');

# The child is the first that goes when memory runs out, has no shared memory any more, and limits
# of its own.  That is looked at in one that is stopped at its work.
$asking = IPC::Run::start(
	[ 'psql', '-X', '-q', '-At', '-d', $node->connstr('postgres'), '-f', $questions ],
	'<', \undef, '>', \$answers, '2>', \$problems);
my $shared = qr{ rw-s .* (?:/dev/zero|/SYSV|/anon_hugepage)};
my ($stopped, $limits, $maps, $priority);
while (!$stopped && $asking->pumpable)
{
	for my $child (children('RSD'))
	{
		kill 'STOP', $child;
		select(undef, undef, undef, 0.001) while read_if_there("/proc/$child/stat") =~ /\) [RSD]/;
		($limits, $maps) = map { read_if_there("/proc/$child/$_") } 'limits', 'maps';
		($priority) = read_if_there("/proc/$child/stat") =~ /\) (?:\S+ ){16}(\S+)/;
		$stopped = $child if read_if_there("/proc/$child/oom_score_adj") eq "1000\n" && ($priority // 0) == 19;
		kill 'CONT', $child;
		last if $stopped;
	}
	$asking->pump_nb;
}
ok($stopped, 'a child that proves is the first victim when memory runs out, and has the lowest priority');
unlike($maps, $shared, 'it has no shared memory of the server');
like(read_if_there("/proc/$pid/maps"), $shared, 'which its session has');
like($limits, qr/^Max core file size\s+0 .*^Max address space\s+\d/ms, 'it leaves no core file, and has a limit of memory');
like($limits, qr/^Max cpu time\s+\d/m, 'and of processor time');
$asking->finish;

# Who asks may give up.
prove("SET statement_timeout = 1; ") for 1 .. $proofs / 10;
prove();
is($out, 't', 'it can be proven when others have given up');

# The process may not fork.
my ($limit) = `prlimit --pid=$pid --nproc --output=HARD --noheadings` =~ /(\S+)/;
system_or_bail('prlimit', "--pid=$pid", '--nproc=1:');
prove();
is($out, 'f', 'a process that cannot fork is not proven');
like($err, qr/WARNING:  process $pid could not be proven: Resource temporarily unavailable/, 'which it says');
system_or_bail('prlimit', "--pid=$pid", "--nproc=$limit:");
$session->query_safe('SELECT leak_top(200, 1000)');
prove();
is($out, 't', 'and it is proven once it can');

wait_until(sub { prove(); children('Z') == 0 }, 'no zombie stays');
$session->quit;
wait_until(sub { is_gone($pid) }, 'the session ends');
is(join(' ', grep { /proof/ } map { s{.*/}{}r } glob(profile_directory($node) . '/*')), '', 'no file stays');
unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC|crash/, 'no process of the server has crashed');

done_testing();
