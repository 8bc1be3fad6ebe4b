# The forecast of memory: in a control group with a limit, the keeper foresees when the kernel
# will kill, names the process that grows, and is silent once the growth has ended.  That takes
# a group, and processes of different sessions.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => "no limit of memory: $ENV{NO_OOM_CGROUP}" if !$ENV{FORESEEN_CGROUP};

my $node = new_server('grouped', "shared_buffers = '16MB'\npg_leakhunt.forecast_warning = '1h'\npg_leakhunt.keeper_interval = '1s'\nlog_min_messages = debug1\n");
my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
append_to_file("$ENV{FORESEEN_CGROUP}/cgroup.procs", "$postmaster\n");

my $metric = sub { ask($node, "SELECT value FROM pg_leakhunt_metrics WHERE name = 'memory_forecast_seconds'") };
my $sentences = sub { (grep { /^At this rate/ } split /\n/, ask($node, 'SELECT explanation FROM pg_leakhunt_explain() WHERE pid IS NULL'))[0] // '' };
my $lines = sub { slurp_file($node->logfile) =~ /LOG:  (at this rate the kernel kills .*\n.*DETAIL:.*\n(?:\t.*\n)*.*HINT:.*\n)/g };
my $size = sub { my ($number, $unit) = split / /, $_[0]; $number * { bytes => 1, kB => 2**10, MB => 2**20, GB => 2**30 }->{$unit} };

# A session takes that much, in MB, 10 MB a second, in the background.
sub grow
{
	my ($session, $megabytes) = @_;

	$session->query_until(qr/begun/, "\\echo begun\nDO \$\$ BEGIN FOR i IN 1 .. 5 * $megabytes LOOP PERFORM leak_top(4000, 51), pg_sleep(0.02); END LOOP; END \$\$;\n");
}

is($metric->(), '', 'in calm there is no forecast');
is(scalar(() = $lines->()), 0, 'nor a line');

my $growing = $node->background_psql('postgres', on_error_stop => 0);
my $pid = session_pid($growing);
grow($growing, 420);
wait_until(sub { $lines->() > 0 }, 'growth is foreseen to go on until the kernel kills');
my ($line) = $lines->();
like($line, qr/^at this rate the kernel kills a process in about \d+ seconds? \(\d+ to \d+\): (?:process $pid is|\d+ processes together are) \d+% of the growth\n/, 'the line in the log has the time, its range, and the process that grows');
like($line, qr/DETAIL:  \d+ MB is left of the 512 MB that its control group may have; \S+ [kM]B of that is taken each second\. Ending process $pid gives \d+ MB back\.  Process $pid: client backend, user "\w+", database "postgres", application ".*"\./, 'how much is left, what ends it, and whom that works for');
like($line, qr/HINT:  SELECT pg_terminate_backend\($pid\) ends process $pid\.  SELECT explanation FROM pg_leakhunt_explain\($pid\) tells what holds its memory\./, 'and what to do');
my ($seconds, $soonest, $latest, $percent, $left, $rate) = $line =~ /about (\d+) seconds? \((\d+) to (\d+)\).* (\d+)% of the growth\n.*DETAIL:  (\S+ \S+) is left .*; (\S+ \S+) of that/;
my $truth = $size->($left) / $size->($rate);
cmp_ok(abs($seconds - $truth), '<=', $truth / 3 + 1, 'the time is that in which the rest is taken at that rate');
ok($soonest <= $seconds && $seconds <= $latest, 'and within its range');
cmp_ok($percent, '>', 0, 'a part of the growth is told');

wait_until(sub { $metric->() ne '' }, 'who asks for metrics gets it, too');
my $said;
wait_until(sub { ($said = $sentences->()) ne '' }, 'and so does who asks for the server in words');
like($said, qr/^At this rate the kernel kills a process in about \d+ \w+ \(\d+ to \d+\)\. \S+ \w+ is left of the 512 MB that its control group may have; .* (?:Process $pid is \d+% of the growth|process $pid has grown most)\. Ending process $pid gives \d+ MB back\./, 'with the same');
wait_until(sub { ask($node, 'SELECT pg_leakhunt_page()') =~ /"forecast":\{"seconds":\d+,.*?"pid":$pid,/ }, 'and the page');
ask($node, 'CREATE ROLE clerk LOGIN');
is(($node->psql('postgres', "SELECT count(*) FROM pg_leakhunt_metrics WHERE name = 'memory_forecast_seconds'", extra_params => [ '-U', 'clerk' ]))[1], 0, 'but only if it may see all processes');

# it is cancelled, and keeps what it has
ask($node, "SELECT pg_cancel_backend($pid)");
$growing->query('');
my $count = () = $lines->();
wait_for_looks($node);
is($metric->(), '', 'when the growth has ended there is no forecast');
is($sentences->(), '', 'in words neither');
wait_for_looks($node);
is(scalar(() = $lines->()), $count, 'and the log has no more lines');

# without it
set_and_reload($node, 'pg_leakhunt.forecast_warning' => '0');
grow($growing, 60);
$growing->query('');
wait_for_looks($node);
is($metric->() . scalar(() = $lines->()), $count, 'with forecast_warning at 0 nothing is foreseen');
$node->stop;
done_testing;
