# Two servers of one user, and two builds of the library in one server: neither may
# take what is the other's for its own.  Needs servers side by side, in process
# namespaces where their pids are the same, and an installation of its own.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $scratch = PostgreSQL::Test::Utils::tempdir();
my $dumps = "$scratch/dumps";
my $conf = <<CONF;
pg_leakhunt.sample_interval = 1
pg_leakhunt.dump_directory = '$dumps'
pg_leakhunt.dump_min_bytes = 10kB
pg_leakhunt.dump_keep = 1000
CONF

my %directory;		# of the profiles, by name of the node

# End sessions, at the same time, and wait until their last dumps are written: the
# profile goes after that.
sub quit_together
{
	my (@users) = @_;

	$_->{session}{stdin} .= "\\q\n" for @users;
	$_->{session}{run}->pump_nb for @users;
	$_->{session}{run}->finish for @users;
	for my $user (@users)
	{
		wait_until(sub { !-e "$directory{$user->{node}->name}/$user->{pid}" }, 'a profile is gone');
	}
}

# A session that leaks a thousand chunks of a size that tells it from others.
sub leaking_session
{
	my ($node, $bytes) = @_;
	my $session = $node->background_psql('postgres');

	$session->query_safe("SELECT leak_top($bytes, 1000)");
	return { node => $node, session => $session, pid => session_pid($session) };
}

# All that a server shows is its own.  Not all processes are in pg_stat_activity.
sub shows_its_own
{
	my ($node, $what, $crashed) = @_;

	is( ask($node, q{SELECT pid FROM pg_leakhunt_processes p LEFT JOIN pg_stat_activity a USING (pid)
			WHERE a.pid IS NULL AND p.backend_type NOT IN ('postmaster', 'pg_leakhunt keeper')
				AND p.state <> 'crashed'}),
		'', "$what: there are only processes of the server itself");
	is( ask($node, q{SELECT pid FROM pg_leakhunt_processes WHERE state = 'crashed' AND backend_type = 'client backend' ORDER BY live_bytes DESC LIMIT 1}),
		$crashed // '', "$what: there are only crashes of the server itself");
	is(ask($node, q{SELECT count(*) FROM pg_leakhunt_processes WHERE backend_type = 'postmaster' AND state <> 'crashed'}),
		1, "$what: there is one postmaster");
}

# Two servers with the same directory of dumps, each with its own processes.
sub check_pair
{
	my ($what, $stop, $kill, @nodes) = @_;
	my %expected;

	shows_its_own($_, "$what, " . $_->name) for @nodes;
	for my $round (1 .. 3)
	{
		my $bytes = 100 + 10 * $round;

		quit_together(map { leaking_session($nodes[$_], $bytes + $_) } 0 .. $#nodes);
		$expected{ 1000 * ($bytes + $_) }++ for 0 .. $#nodes;
	}

	# one of them crashes, and comes back
	my $crashed = leaking_session($nodes[1], 200);
	$expected{200_000}++;
	my $other = leaking_session($nodes[0], 201);
	$kill->($nodes[1]);
	$crashed->{session}{run}->kill_kill;
	is(report_row($nodes[0], $other->{pid}, 'leaking_top')->{live_bytes},
		201_000, "$what: the other server's crash changes no figures");
	shows_its_own($nodes[0], "$what, after the other's crash");
	$other->{session}->query_safe('SELECT leak_top(201, 1000)');
	is(report_row($nodes[0], $other->{pid}, 'leaking_top')->{live_bytes},
		402_000, "$what: the other server's return changes no figures");
	shows_its_own($nodes[1], "$what, after its crash", $crashed->{pid});
	quit_together($other);
	$expected{402_000}++;

	# every leak has its dump, whole, and both servers list them all
	my @files = glob("$dumps/*.profile");
	my %found;
	for my $file (@files)
	{
		$found{$_}++ for grep { $expected{$_} } slurp_file(dump_text($file)) =~ /^\s*\d+:\s*(\d+) \[.*\] @ 0x/mg;
	}
	is_deeply(\%found, \%expected, "$what: no dump is lost");
	for my $node (@nodes)
	{
		my $names = join ', ', map { s{.*/(.*)}{'$1'}r } @files;

		is(ask($node, "SELECT count(live_bytes) FROM pg_leakhunt_dumps WHERE file IN ($names)"),
			@files, "$what: " . $node->name . ' lists all dumps');
	}
	wait_until(sub { !(() = glob("$dumps/*tmp*")) }, "$what: no dump is left incomplete");
	unlink glob("$dumps/*");
	$stop->(@nodes);
}

my @nodes = map { new_server($_, $conf) } 'left', 'right';
%directory = map { $_->name => profile_directory($_) } @nodes;
check_pair(
	'different pids',
	sub { $_->stop for @_; },
	sub { my ($node) = @_; $node->stop('immediate'); $node->start; },
	@nodes);

# In containers the pids are the same: here in process namespaces, with one /dev/shm.
my %container;

sub start_container
{
	my ($node) = @_;
	my ($input, $output) = ('', '');
	my $run = IPC::Run::start(
		[
			'unshare', '--user', '--map-current-user', '--pid', '--fork',
			'--kill-child', '--mount-proc', 'sh', '-c',
			'pg_ctl -w -D "$1" -l "$2" start && read line; pg_ctl -w -D "$1" -m fast stop',
			'sh', $node->data_dir, $node->logfile
		],
		'<', \$input, '>', \$output, '2>&1');

	$container{ $node->name } = $run;
	wait_until(sub { system('pg_isready', '-q', '-h', $node->host, '-p', $node->port) == 0 },
		$node->name . ' has started');
}

sub stop_container
{
	my ($node) = @_;

	# at the end of its input
	$container{ $node->name }->finish;
}

SKIP:
{
	skip 'no process namespaces', 1
	  if system('unshare --user --map-current-user --pid --fork --mount-proc true 2>/dev/null') != 0;
	start_container($_) for @nodes;
	my @pids = map { (split /\n/, slurp_file($_->data_dir . '/postmaster.pid'))[0] } @nodes;
	is($pids[0], $pids[1], 'both postmasters have the same PID');
	check_pair(
		'same pids',
		sub { stop_container($_) for @_; },
		sub {
			my ($node) = @_;
			$container{ $node->name }->kill_kill;
			start_container($node);
		},
		@nodes);
}

# An installation of our own, in which the library can be replaced as packages do it:
# by a new file with the name of the old one.
sub private_installation
{
	my ($root) = @_;
	my %paths = map { $_ => `$ENV{PG_CONFIG} --$_` =~ s/\n//r } qw(bindir pkglibdir sharedir);

	system_or_bail('mkdir', '-p', map { "$root$_" } $paths{pkglibdir}, $paths{bindir} =~ s{/[^/]*$}{}r, $paths{sharedir} =~ s{/[^/]*$}{}r);
	system_or_bail('cp', '-rL', $paths{bindir}, "$root$paths{bindir}");
	symlink($_, "$root$_") or die $! for grep { !/pg_leakhunt\.so/ } glob("$paths{pkglibdir}/*");
	symlink($paths{sharedir}, "$root$paths{sharedir}") or die $!;
	return ("$root" . ($paths{bindir} =~ s{/bin$}{}r), "$root$paths{pkglibdir}", "$paths{pkglibdir}/pg_leakhunt.so");
}

my ($install_path, $pkglibdir, $original) = private_installation("$scratch/root");
my $library = "$pkglibdir/pg_leakhunt.so";
my $build = 0;

# Put another build into the place of the library: the same code, with another build-id.
sub replace_library
{
	my $content = slurp_file($original);

	$build++;
	$content =~ s/(\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0.{19})./$1 . chr($build)/se
	  or die 'no build-id';
	append_to_file("$library.new", $content);
	chmod 0755, "$library.new";
	rename("$library.new", $library) or die $!;
}

# The frames of a session in the library that have names, and those that say why not.
sub frames_in_library
{
	my ($node, $pid) = @_;

	return ask($node, qq{
		SELECT count(*) FILTER (WHERE frame ~ '^(plh|pg_leakhunt)_') > 0,
			count(*) FILTER (WHERE frame ~ '^pg_leakhunt\\.so.0x[0-9a-f]+ \\[file replaced\\]') > 0
		FROM pg_leakhunt_report($pid), unnest(stack) AS frame});
}

# A session that has frames in the library, and a leak.
sub busy_session
{
	my ($node) = @_;
	my $session = $node->background_psql('postgres');
	my $pid = session_pid($session);

	$session->query_safe('SET pg_leakhunt.sample_interval = 1; SET client_min_messages = warning');
	$session->query_safe('SELECT leak_top(64, 1000)');
	$session->query_safe(q{SELECT count(*) FROM pg_leakhunt_check('SELECT 1', 2, 0)});
	return ($session, $pid);
}

sub leaked
{
	my ($node, $pid) = @_;

	return report_row($node, $pid, 'leaking_top')->{live_bytes};
}

replace_library();
my $node = PostgreSQL::Test::Cluster->new('replaced', install_path => $install_path);
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_leakhunt'\n");
$node->start;
define_leakers($node);
my ($old, $old_pid) = busy_session($node);
is(frames_in_library($node, $old_pid), 't|f', 'frames of the library that was loaded have names');
replace_library();
is(frames_in_library($node, $old_pid), 'f|t', 'frames of a library that is replaced have no names, but a reason');
my ($new, $new_pid) = busy_session($node);
is(leaked($node, $_), 64_000, 'sessions from before and after the library is replaced are exact') for $old_pid, $new_pid;
$_->query_safe('SELECT leak_top(64, 1000)') for $old, $new;
is($new->query_safe("SELECT sum(live_bytes) FROM pg_leakhunt_report($old_pid) WHERE 'leaking_top' = ANY (functions(stack))"),
	128_000, 'a new session sees the old one');
is($old->query_safe("SELECT sum(live_bytes) FROM pg_leakhunt_report($new_pid) WHERE 'leaking_top' = ANY (functions(stack))"),
	128_000, 'an old session sees the new one');
$new->query_safe(q{LOAD 'pg_leakhunt'});
$new->query_safe('SELECT leak_top(64, 1000)');
is(leaked($node, $new_pid), 192_000, 'LOAD does not load the library again');
is(ask($node, q{SELECT count(*) FROM pg_leakhunt_check('SELECT leak_top(64, 10)', 10, 2) WHERE site ~ 'leaking_top'}),
	1, 'a check works with a library that is replaced');
$_->quit for $old, $new;

# Loaded by sessions, two builds of it run side by side.
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
$node->append_conf('postgresql.conf', "session_preload_libraries = 'pg_leakhunt'\npg_leakhunt.dump_min_bytes = 0\n");
$node->restart;
($old, $old_pid) = busy_session($node);
replace_library();
($new, $new_pid) = busy_session($node);
is($new->query_safe("SELECT sum(live_bytes) FROM pg_leakhunt_report($_) WHERE 'leaking_top' = ANY (functions(stack))"),
	64_000, 'a session with the new build reads profiles of both') for $old_pid, $new_pid;
is($old->query_safe("SELECT sum(live_bytes) FROM pg_leakhunt_report($_) WHERE 'leaking_top' = ANY (functions(stack))"),
	64_000, 'a session with the old build reads profiles of both') for $old_pid, $new_pid;
$new->query_safe("SELECT pg_leakhunt_stop($old_pid)");
$old->query_safe('SELECT leak_top(64, 20000)');
is(ask($node, "SELECT sampling FROM pg_leakhunt_sampling WHERE pid = $old_pid"),
	'f', 'a session with the old build fulfils requests of the new one');
my $file = $new->query_safe("SELECT pg_leakhunt_dump($old_pid)");
is($old->query_safe("SELECT sum(live_bytes) FROM pg_leakhunt_report('$file') WHERE 'leaking_top' = ANY (functions(stack))") >= 64_000 ? 't' : 'f',
	't', 'a dump by one build is read by the other');
$_->quit for $old, $new;
$node->stop;

unlike(slurp_file($_->logfile), qr/PANIC|terminated by signal 11|pg_leakhunt is inactive/, $_->name . ': no process has crashed')
  for @nodes, $node;
done_testing();
