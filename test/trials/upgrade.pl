# Two versions of the library in one server, one in sessions from before the file was
# replaced and one in those that began later, whose profiles have other layouts and whose
# requests have other files: each way, and where the postmaster has loaded the first.  Needs
# a build of a former version (test/trial), and an installation of its own.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use File::Path qw(remove_tree);
use Installation;
use LeakHunt;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'there is no build of a former version' if !$ENV{FORMER};

# An installation in which the library and the extension's files can be replaced.
my $installation = new_installation();
my %paths = installed_paths();

my %files = (
	former => [ "$ENV{FORMER}/pg_leakhunt.so", "$ENV{FORMER}/sql/pg_leakhunt--1.0.sql" ],
	present => [ "$paths{pkglibdir}/pg_leakhunt.so", "$paths{sharedir}/extension/pg_leakhunt--1.0.sql" ]);

# How each of them says that it can't read something of the other's.
my $not_mine = qr/is not a profile of this version of pg_leakhunt/;
# A null pid meant all processes once.
my $no_match = qr/objects of extension pg_leakhunt do not (?:match|fit) its library|could not find function|does not exist|return (?:and sql tuple|type)|pid must not be null/;

# Install a version as packages do it: new files with the names of the old ones.
sub install
{
	my ($version) = @_;
	my ($library, $script) = @{ $files{$version} };

	put_file($library, "$installation->{pkglibdir}/pg_leakhunt.so");
	put_file($script, "$installation->{sharedir}/extension/pg_leakhunt--1.0.sql");
	return;
}

# A server with one version installed; there is a database for the objects of each.
sub start_with
{
	my ($name, $version, $how) = @_;
	my $node = node_of($installation, $name);

	install($version);
	$node->init;
	$node->append_conf('postgresql.conf', <<"CONF");
$how = 'pg_leakhunt'
pg_leakhunt.dump_min_bytes = 10kB
restart_after_crash = on
CONF
	$node->start;
	define_leakers($node);
	$node->safe_psql('template1', 'CREATE DATABASE later TEMPLATE postgres');
	return $node;
}

# The other version comes, with its objects in the other database.
sub replace_with
{
	my ($node, $version) = @_;

	install($version);
	$node->safe_psql('later', 'DROP EXTENSION pg_leakhunt; CREATE EXTENSION pg_leakhunt');
	return;
}

# A session in a database that has leaked 64,000 bytes.
sub leaking_session
{
	my ($node, $database) = @_;
	my $session = $node->background_psql($database, on_error_stop => 0);
	my $pid = session_pid($session);

	$session->query_safe('SET client_min_messages = warning; SET pg_leakhunt.sample_interval = 1');
	$session->query_safe('SELECT leak_top(64, 1000)');
	return { session => $session, pid => $pid };
}

# What somebody sees of a process' leak, and is told.
sub seen
{
	my ($by, $of) = @_;
	my $session = $by->{session};

	$session->{stderr} = '';
	my $bytes = $session->query("SELECT sum(live_bytes) FROM pg_leakhunt_report($of->{pid}) WHERE 'leaking_top' = ANY (functions(stack))");
	my $said = $session->{stderr};
	$session->{stderr} = '';
	return ($bytes, $said);
}

# Neither reads the other's profiles, and each says so.
sub refuses
{
	my ($by, $of, $name) = @_;
	my ($found, $said) = seen($by, $of);

	return like("$found $said", qr/^ .*$not_mine/s, "$name: a version says that it can't read the other's profile");
}

# All views of a session whose library has the objects of the other: each has an answer,
# or says that they do not belong together.
sub asks_all
{
	my ($node, $database, $name) = @_;
	my $session = $node->background_psql($database, on_error_stop => 0);
	my $pid = session_pid($session);
	my ($answers, @problems) = (0);

	for my $view (split /\n/, ask($node, q{SELECT relname FROM pg_class JOIN pg_depend d ON d.objid = pg_class.oid
		JOIN pg_extension e ON e.oid = d.refobjid WHERE extname = 'pg_leakhunt' AND relkind = 'v' AND d.deptype = 'e' ORDER BY 1}))
	{
		$session->query("SELECT count(*) FROM (SELECT * FROM $view) AS all_columns");
		my $said = $session->{stderr};
		$session->{stderr} = '';
		$answers++ if $said !~ /ERROR/;
		push @problems, "$view: $said" if $said =~ /ERROR/ && $said !~ $no_match;
	}
	is(join("\n", @problems), '', "$name: views have an answer, or say that objects and library do not match");
	is(session_pid($session), $pid, "$name: the session goes on");
	note("$name: $answers views with an answer");
	$session->quit;
	return;
}

sub check_log
{
	my ($node, $name) = @_;

	is_deeply([ grep { /PANIC|TRAP|terminated by signal (?!9)|pg_leakhunt is inactive/ } split /\n/, slurp_file($node->logfile) ],
		[], "$name: nobody crashed who was not killed");
	return;
}

for my $pair ([ 'former', 'present' ], [ 'present', 'former' ])
{
	my ($first, $second) = @$pair;

	# sessions load it, so that both versions run side by side
	my $name = "sessions, $first then $second";
	my $node = start_with("sessions_$first", $first, 'session_preload_libraries');
	my $old = leaking_session($node, 'postgres');
	my $directory = profile_directory($node);
	replace_with($node, $second);
	my $new = leaking_session($node, 'later');
	wait_until(sub { -e "$directory/$old->{pid}" && -e "$directory/$new->{pid}" }, "$name: both have profiles");
	is((seen($old, $old))[0], 64_000, "$name: the old session sees itself");
	is((seen($new, $new))[0], 64_000, "$name: the new session sees itself");
	refuses($new, $old, $name);
	refuses($old, $new, $name);
	is(join(' ', map { m{/(control\.\d+)} } glob("$directory/control.*")), 'control.10 control.4', "$name: each version has its own requests");
	asks_all($node, $_, "$name, objects in $_") for 'postgres', 'later';

	# requests and dumps of the other's sessions
	for my $pair ([ $new, $old ], [ $old, $new ])
	{
		my ($by, $of) = @$pair;

		$by->{session}->query("SELECT $_($of->{pid})") for qw(pg_leakhunt_stop pg_leakhunt_start pg_leakhunt_dump);
		like($by->{session}{stderr}, qr/WARNING:  process $of->{pid} may not notice the request/, "$name: the later version says that a request may have no effect")
		  if $by == ($second eq 'present' ? $new : $old);
		$by->{session}{stderr} = '';
		$of->{session}->query_safe('SELECT leak_top(64, 1000)');
	}
	is((seen($_, $_))[0], 128_000, "$name: both go on") for $old, $new;
	is(join(' ', grep { /^(?:$old->{pid}|$new->{pid})$/ } profile_files($directory)),
		join(' ', sort $old->{pid}, $new->{pid}), "$name: no profile of the other is removed");

	# the old one ends well, the new one is killed
	$old->{session}->quit;
	is(problem_at_exit($node, $old->{pid}), undef, "$name: the old session ends");
	kill 'KILL', $new->{pid};
	eval { $new->{session}{run}->finish };
	wait_until(sub { slurp_file($node->logfile) =~ /PID $new->{pid}\) was terminated.*ready to accept/s }, "$name: the server restarts");
	wait_for_server($node);
	my $next = leaking_session($node, 'later');
	is(ask($node, "SELECT 1"), 1, "$name: sessions begin again");
	is($next->{session}->query("SELECT count(*) FROM pg_leakhunt_dumps WHERE pid = $new->{pid} AND reason = 'crash'"),
		1, "$name: what the killed session held is a dump");
	$next->{session}->quit;
	$node->stop;
	check_log($node, $name);
	remove_tree($directory);

	# the postmaster has loaded it: all keep what it has mapped, until the next start
	$name = "preloaded, $first then $second";
	$node = start_with("preloaded_$first", $first, 'shared_preload_libraries');
	$old = leaking_session($node, 'postgres');
	$directory = profile_directory($node);
	install($second);
	my ($result, $stdout, $stderr) = $node->psql('later', 'DROP EXTENSION pg_leakhunt; CREATE EXTENSION pg_leakhunt');
	like("$result $stderr", qr/^0 $|$no_match/, "$name: objects of the other version can be made, or it is said that the library lacks a function");
	$new = leaking_session($node, 'postgres');
	is((seen($new, $old))[0], 64_000, "$name: a new session sees the old one");
	is((seen($old, $new))[0], 64_000, "$name: an old session sees the new one");
	$new->{session}->query_safe("SET client_min_messages = warning; LOAD 'pg_leakhunt'; SELECT count(*) FROM pg_leakhunt_check('SELECT 1', 2, 0)");
	is(ask($node, qq{SELECT count(*) > 0 FROM pg_leakhunt_report($new->{pid}), unnest(stack) AS frame
			WHERE frame ~ '^pg_leakhunt\\.so.0x[0-9a-f]+ \\[file replaced\\]'}),
		't', "$name: frames of the library say that its file was replaced");
	asks_all($node, 'postgres', $name);

	# the next server is of the other version, and finds what the first has left
	$node->stop('immediate');
	$_->{session}{run}->kill_kill for $old, $new;
	$node->start;
	$node->safe_psql('later', 'DROP EXTENSION IF EXISTS pg_leakhunt; CREATE EXTENSION pg_leakhunt');
	is($node->safe_psql('later', 'SELECT count(*) > 0 FROM pg_leakhunt_processes'), 't', "$name: the next server is of the other version");
	wait_until(sub { slurp_file($node->logfile) =~ /WARNING:  removed file "$old->{pid}" from the (?:profile )?directory/ },
		"$name: a version says that it removes what it can't read");
	$node->restart;
	$node->stop;
	check_log($node, $name);
	note("$name: left behind: ", join ' ', profile_files($directory));
	remove_tree($directory);
}
done_testing();
