# Which files lie in the directory of the dumps: the texts for jeprof and pprof beside
# dumps, and what goes when there are too many or when they are too large.  Needs files,
# and a server whose settings change.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Dumps;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main', "$quick_keeper\n" . <<'CONF');
restart_after_crash = on
pg_leakhunt.dump_min_bytes = 1MB
pg_leakhunt.log = findings
CONF
my $directory = $node->data_dir . '/pg_leakhunt';

# The names of the files with such an end, sorted.
sub names
{
	my ($end) = @_;

	return join ' ', sort map { s{.*/}{}r } glob("$directory/*.$end");
}

# Leave a dump at the exit of a session that holds a number of bytes; returns its path.
sub exit_dump
{
	my ($bytes) = @_;
	my $session = $node->background_psql('postgres');
	my $pid = session_pid($session);

	$session->query_safe('SET pg_leakhunt.sample_interval = 1');
	$session->query_safe("SELECT leak_top(1000, $bytes / 1000)");
	$session->quit;
	is(problem_at_exit($node, $pid), undef, 'a session ends with a dump');
	return (dump_files($node, $pid))[0];
}

# The text of an exit: from the exiting process, or, of a large profile, from the keeper.
my $dump = exit_dump(2_000_000);
ok(-e $dump =~ s/profile$/heap/r, 'an exiting process writes the text of a small profile');
my $large = $node->background_psql('postgres');
my $large_pid = session_pid($large);
$large->query_safe("SET pg_leakhunt.sample_interval = 1; SET pg_leakhunt.scope = 'all'");
$large->query_safe(
	"\\o /dev/null\nSELECT format('SELECT leak_at_depth(g, 100, 10) AS number_%s FROM generate_series(1, 60) g /* %s */', i, repeat('x', 700)) FROM generate_series(1, 300) i \\gexec\n\\o");
$large->query_safe('SELECT leak_top(1000, 2000)');
cmp_ok(process_row($node, $large_pid)->{profile_bytes}, '>', 1024 * 1024, 'a session has a large profile');
$large->quit;
is(problem_at_exit($node, $large_pid), undef, 'the session with a large profile ends');
my ($large_dump) = dump_files($node, $large_pid);
my $text = dump_text($large_dump);
my $made = $node->safe_psql('postgres', "SELECT pg_leakhunt_heap('@{[$large_dump =~ s{.*/}{}r]}')");
ok(slurp_file($text) =~ s/\n+\z//r eq $made =~ s/\n+\z//r, 'the keeper writes the text of a large profile');
like(run_tool('jeprof', '--text', $node->config_data('--bindir') . '/postgres', $text),
	qr/leaking_top/, 'jeprof reads the text of a large profile');

# A text is for others, and no dump.
my $text_name = $text =~ s{.*/}{}r;
for my $call ('pg_leakhunt_report', 'pg_leakhunt_heap', '_pg_leakhunt_dump_file', 'pg_leakhunt_flamegraph')
{
	my (undef, undef, $stderr) = $node->psql('postgres', "SELECT $call('$text_name')");

	is( $stderr =~ s/^psql:<stdin>:1: |\nCONTEXT.*//gr,
		qq{ERROR:  "$text_name" is the text of a dump, not the dump
DETAIL:  The text is for jeprof and pprof, and lacks much of the dump.
HINT:  The dump has the same name with the suffix "profile".},
		"a text is refused by $call");
}
is( $node->safe_psql('postgres', "SELECT count(*) FROM pg_leakhunt_dumps WHERE file LIKE '%.heap'"),
	0, 'a text is not listed as a dump');

# Without texts, and with them again.
set_and_reload($node, 'pg_leakhunt.dump_text' => 'off');
unlink glob("$directory/*");
my $without = exit_dump(2_000_000);
my $holder = $node->background_psql('postgres');
$holder->query_safe('SET pg_leakhunt.sample_interval = 1');
$holder->query_safe('SELECT leak_top(1000, 2000)');
my $manual = $node->safe_psql('postgres', 'SELECT pg_leakhunt_dump(' . session_pid($holder) . ')');
my $holder_pid = session_pid($holder);
kill 'KILL', $holder_pid;
$holder->{run}->finish;
wait_for_server($node, $holder_pid);
wait_until(sub { names('profile') =~ /crash/ }, 'a crash leaves a dump');
is(scalar(split / /, names('profile')), 3, 'there are dumps of an exit, on request and of a crash');
wait_for_looks($node);
is(names('heap'), '', 'dump_text = off leaves no text');
set_and_reload($node, 'pg_leakhunt.dump_text' => 'on');
wait_until(sub { names('heap') eq names('profile') =~ s/profile/heap/gr }, 'with dump_text = on again the keeper writes the texts that are missing')
  or diag(names('*'));

# A dump that is damaged has no text, about which the keeper complains once.
my $offset = -s $node->logfile;
write_bytes("$directory/4711.1.manual.profile", 'damaged');
my $complaints = sub {
	scalar(() = slurp_file($node->logfile, $offset) =~ /LOG:  could not write the text of dump file "4711\.1\.manual\.profile"/g);
};
wait_until(sub { $complaints->() > 0 }, 'the keeper tells that a damaged dump has no text');
write_bytes("$directory/4712.1.manual.profile", slurp_file("$directory/$manual"));
wait_until(sub { -e "$directory/4712.1.manual.heap" }, 'the keeper goes on with other dumps after a damaged one');
# it looks at what came a second before its last look once more, as clocks are coarse
my $told = 0;
wait_until(
	sub {
		$told = $complaints->();
		wait_for_looks($node);
		return $complaints->() == $told;
	},
	'the keeper does not complain of a damaged dump again and again');
write_bytes("$directory/4713.1.manual.profile", slurp_file("$directory/$manual"));
wait_until(sub { -e "$directory/4713.1.manual.heap" }, 'the keeper goes on with other dumps later');
wait_for_looks($node);
cmp_ok($complaints->() - $told, '<=', 1, 'nor then');
unlink glob("$directory/471*");

# What is too much: of the reason with the most bytes the oldest goes, with its text; the
# youngest of each reason stays.  Files are made here, some of them older than others.
unlink glob("$directory/*");
my $age = 1000;
sub make_files
{
	my ($reason, $megabytes, @pids) = @_;

	for my $pid (@pids)
	{
		write_bytes("$directory/$pid.1.$reason.profile", 'x' x ($megabytes * 1_000_000));
		write_bytes("$directory/$pid.1.$reason.heap", 'x' x 1_000_000);
		utime(time - $age, time - $age, "$directory/$pid.1.$reason.profile", "$directory/$pid.1.$reason.heap");
		$age--;
	}
}
# What is left, with the texts of just that: a removal takes the dump first.
sub left
{
	my $left = join ' ', sort map { s/\.1\.(\w)\w+\.profile/$1/r } split / /, names('profile');

	return names('heap') eq names('profile') =~ s/profile/heap/gr ? $left : "$left, and others' texts";
}
make_files('exit', 2, 1 .. 9);         # 27 MB with the texts
make_files('crash', 4.5, 11 .. 13);    # 16.5 MB
make_files('manual', 6, 21);           # 7 MB
make_files('growth', 1, 31, 32);       # 4 MB
is(left(), '11c 12c 13c 1e 21m 2e 31g 32g 3e 4e 5e 6e 7e 8e 9e', 'dumps of 54.5 MB are there');
set_and_reload($node, 'pg_leakhunt.dump_max_size' => '48MB');
wait_until(sub { left() eq '11c 12c 13c 21m 31g 32g 3e 4e 5e 6e 7e 8e 9e' }, 'with dump_max_size = 48MB the oldest exits go: they have most bytes')
  or diag(left());
set_and_reload($node, 'pg_leakhunt.dump_max_size' => '35MB');
wait_until(sub { left() eq '12c 13c 21m 31g 32g 6e 7e 8e 9e' }, 'with dump_max_size = 35MB more exits go, and one crash, once crashes have most bytes')
  or diag(left());
set_and_reload($node, 'pg_leakhunt.dump_max_size' => '25MB');
wait_until(sub { left() eq '13c 21m 31g 32g 7e 8e 9e' }, 'with dump_max_size = 25MB no reason starves another')
  or diag(left());
make_files('exit', 2, 41 .. 45);
set_and_reload($node, 'pg_leakhunt.dump_max_size' => '1MB');
wait_until(sub { left() eq '13c 21m 32g 45e' }, 'with dump_max_size = 1MB the youngest of each reason stays')
  or diag(left());

# A new dump is younger than the one that was the youngest, whoever writes it.
my $newest = exit_dump(2_000_000);
wait_until(sub { names('exit.profile') eq $newest =~ s{.*/}{}r }, 'a new dump stays in the place of the last')
  or diag(left());

# A text whose dump is gone, as of a former version, counts, and goes.
write_bytes("$directory/51.1.exit.heap", 'x' x 1_000_000);
utime(time - 5000, time - 5000, "$directory/51.1.exit.heap");
wait_until(sub { !-e "$directory/51.1.exit.heap" }, 'a text without a dump goes, too');
is(names('exit.profile'), $newest =~ s{.*/}{}r, 'the dump stays when a text without a dump goes');
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|signal (6|11)/, 'no process has crashed by itself');
done_testing();
