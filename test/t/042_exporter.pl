# pg_leakhunt_export: what it asks a server, as whom, and what becomes of scrapes and
# profiles while servers and peers are slow, down, full or broken.  Needs servers that
# are stopped, sessions that stand still, and peers that speak HTTP.  What needs no
# server is in test/exporter/unit_tests.py.
use strict;
use warnings;

use File::Basename;
use FindBin;
use lib "$FindBin::RealBin/../perl";
use Exporting;
use HTTP::Tiny;
use IPC::Run;
use LeakHunt;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => "there is no psycopg2 for the system's python3"
  if system("/usr/bin/python3 -c 'import psycopg2' 2>/dev/null") != 0;
my $node = new_server('main', <<'CONF');
max_connections = 250
# a worker that comes between two questions has rows of its own
autovacuum = off
pg_leakhunt.sample_interval = '16kB'
password_encryption = 'scram-sha-256'
CONF
my $directory = PostgreSQL::Test::Utils::tempdir;
my $home = "$directory/home";
my $exporters = q{FROM pg_stat_activity WHERE application_name = 'pg_leakhunt_export'};

mkdir $home or die $!;
ask($node, q{
	CREATE ROLE monitor LOGIN PASSWORD 'right'; GRANT pg_monitor TO monitor;
	CREATE ROLE plain LOGIN;
	CREATE DATABASE bare});
my $session = $node->background_psql('postgres');
$session->query_safe('SELECT leak_top(64, 100000)');

# What doc/fleet.md says of a server's part, word by word, and the units that follow it.
my $top = "$FindBin::RealBin/../..";
my ($statements) = slurp_file("$top/doc/fleet.md") =~ /^```sql\n(CREATE SCHEMA .*?)^```/ms;
ask($node, 'CREATE DATABASE fleet');
my ($fleet_exit, $fleet_out, $fleet_error) = $node->psql('fleet', $statements, on_error_stop => 1);
is("$fleet_exit $fleet_error", '0 ', 'a server takes the statements of doc/fleet.md');
my ($role) = $statements =~ /CREATE ROLE (\w+) LOGIN/;
for my $unit (glob("$top/monitoring/systemd/*.service"))
{
	my $text = slurp_file($unit);

	like($text, qr/^User=\Q$role\E$/m, basename($unit) . ' runs as the role of doc/fleet.md');
	like($text, qr/^#   CREATE ROLE \Q$role\E LOGIN; GRANT pg_monitor TO \Q$role\E;$/m,
		basename($unit) . ' names the role of doc/fleet.md');
	like(slurp_file(sharedir() . '/pg_leakhunt/monitoring/systemd/' . basename($unit)),
		qr/^ExecStart=\Q${\bindir()}\E\/pg_leakhunt_export /m,
		basename($unit) . ' calls the program where it was installed');
}

# Where the server's programs and its shared files are.
sub bindir { return run_tool($ENV{PG_CONFIG} // 'pg_config', '--bindir') =~ s/\s+\z//r }
sub sharedir { return run_tool($ENV{PG_CONFIG} // 'pg_config', '--sharedir') =~ s/\s+\z//r }

# A file of this text, which only its owner may read.
sub file_of
{
	my ($name, $text) = @_;

	append_to_file("$home/$name", $text);
	chmod 0600, "$home/$name";
	return "$home/$name";
}

# The connection string of a database on the server.
sub dsn
{
	my ($database, $more) = @_;

	return join ' ', '--dsn=host=' . $node->host, 'port=' . $node->port, "dbname=$database", $more // ();
}

# What fails, fails with a message, and without a profile.
sub fails
{
	my ($pattern, $name, $environment, @arguments) = @_;
	my ($status, $stderr) = run_export($environment, 'push', @arguments, '--connect-timeout=2', "$directory/files");

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($status, 1, "$name: the export fails");
	like($stderr, $pattern, "$name: the message has the reason");
	is_deeply([ glob("$directory/files/*") ], [], "$name: there is no file");
}

# Who connects, and who is told why not.
mkdir "$directory/files" or die $!;
fails(qr/role "plain" may see its own processes only: run GRANT pg_monitor TO "plain"/,
	'a role without pg_monitor', {}, dsn('postgres', 'user=plain'));
fails(qr/the extension pg_leakhunt is not in database "bare": run CREATE EXTENSION/,
	'a database without the extension', {}, dsn('bare'));
fails(qr/database "none" does not exist/, 'a database that is not there', {}, dsn('none'));
fails(qr/No such file or directory/, 'a server that is not there', {}, '--dsn=host=/nowhere');

my $hba = $node->data_dir . '/pg_hba.conf';
my $hba_text = slurp_file($hba);
unlink $hba;
append_to_file($hba, "local all monitor scram-sha-256\n$hba_text");
$node->reload;
file_of('.pg_service.conf', "[shop]\nhost=" . $node->host . "\nport=" . $node->port . "\ndbname=postgres\nuser=monitor\n");
file_of('wrong', "*:*:*:monitor:wrong\n");
file_of('.pgpass', "*:*:*:monitor:right\n");
my %as_monitor = (HOME => $home, PGSERVICEFILE => "$home/.pg_service.conf");
fails(qr/password authentication failed for user "monitor"/,
	'a wrong password', { %as_monitor, PGPASSFILE => "$home/wrong" }, '--dsn=service=shop');
fails(qr/no password supplied/, 'no password', { %as_monitor, PGPASSFILE => "$home/none" }, '--dsn=service=shop');

# pg_monitor is enough; libpq finds service and password where psql does.
my ($status, $stderr) = run_export(\%as_monitor, 'push', '--dsn=service=shop', "$directory/files");
is("$status$stderr", 0, 'a role with pg_monitor pushes a profile, by service file and .pgpass');
my ($file) = glob("$directory/files/*");
like($file, qr{/pg_leakhunt\.\d{8}T\d{6}\.\d{6}Z\.pb\.gz$}, 'a pushed profile is named by its time');
like(run_tool('gzip', '-dc', $file), qr/leaking_top/, 'a pushed profile has the leak');
($status, $stderr) = run_export(\%as_monitor, 'push', '--dsn=service=shop', '--no-symbols', '--labels=', "file://$directory/files");
is("$status$stderr", 0, 'a role with pg_monitor pushes a profile without symbols');
my (undef, $bare) = glob("$directory/files/*");
unlike(run_tool('gzip', '-dc', $bare), qr/leaking_top|memory_context/, 'a profile without symbols and labels has no names');

# Peers that take it, and that do not: the server has nothing to do with it meanwhile.
my $peer = start_peer("$directory/taken", '200');
($status, $stderr) = run_export({}, 'push', dsn('postgres'), '--tag=instance=host1', "$peer->{url}/ingest");
is("$status$stderr", 0, 'a peer takes a profile');
like(slurp_file("$directory/taken.1"), qr{^POST /ingest\?name=postgresql%7Binstance%3Dhost1%7D&from=\d{19}&until=\d{19}&spyName=pg_leakhunt HTTP},
	'a profile is pushed as Pyroscope wants it');
for my $case (
	[ '400', qr/answered 400 Bad Request: said the peer/ ],
	[ '401', qr/answered 401 .*--token-file/ ],
	[ '413', qr/answered 413 .*too large/ ],
	[ '429', qr/answered 429 / ],
	[ '500', qr/answered 500 / ],
	[ '503', qr/answered 503 / ],
	[ 'shut', qr/closed connection without response/ ],
	[ 'cut', qr/closed in the middle of its answer/ ],
	[ 'drip', qr/no answer within 1 s/ ])
{
	my ($behaviour, $pattern) = @$case;
	my $refusing = start_peer("$directory/refused-$behaviour", $behaviour);

	my @impatience = $behaviour eq 'drip' ? '--http-timeout=1' : ();
	($status, $stderr) = run_export({}, 'push', dsn('postgres'), @impatience, "$refusing->{url}/v1/pprof");
	is($status, 1, "peer \"$behaviour\": the export fails");
	like($stderr, $pattern, "peer \"$behaviour\": the message has the reason");
	stop_program($refusing);
}
stop_program($peer);
($status, $stderr) = run_export({}, 'push', dsn('postgres'), "$peer->{url}/ingest");
like("$status $stderr", qr/^1 .*Connection refused/, 'an export to a peer that is down fails with the reason');

my $silent = start_peer("$directory/silent", 'silent');
my $pushing = start_export({}, 'push', dsn('postgres'), '--http-timeout=30', '--every=1', "$silent->{url}/ingest");
wait_until(sub { -e "$directory/silent.1" }, 'a profile is on its way');
is(ask($node, "SELECT state, xact_start IS NULL, backend_xmin IS NULL $exporters"),
	'idle|t|t', 'a session is idle while its profile is on its way');
is(stop_program($pushing), 0, 'push ends when it is told to');
stop_program($silent);

# Again and again, less often while it fails (how often: unit_tests.py): 503, twice, then
# well.
my $limping = start_peer("$directory/limping", '503:2', '503', '200');
$pushing = start_export({}, 'push', dsn('postgres'), '--every=0.5', "$limping->{url}/ingest");
wait_until(sub { -e "$directory/limping.3" }, 'push goes on after failures');
wait_until(sub { -e "$directory/limping.6" }, 'push is as frequent as before after a success');
is(ask($node, "SELECT count(*) $exporters"), 1, 'push has one connection');
stop_program($pushing);
stop_program($limping);

# Scrapes.
my $serving = start_service(\%as_monitor, '--dsn=service=shop', '--connect-timeout=60', '--query-timeout=60');
my $url = $serving->{url};

sub get
{
	my ($path) = @_;

	return HTTP::Tiny->new(timeout => $PostgreSQL::Test::Utils::timeout_default)->get("$url$path");
}

sub scrape_is
{
	my ($up, $name) = @_;
	my $answer = get('/metrics');

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($answer->{status}, 200, "$name: the scrape is answered");
	like($answer->{content}, qr/^pg_leakhunt_up $up$/m, $name);
	return $answer->{content};
}

ok($node->poll_query_until('postgres', "SELECT count(*) = 0 $exporters"), 'nobody has asked the server before the first scrape');
my $text = scrape_is(1, 'the server is up');
is( join("\n", sort { $a cmp $b } map { /^# TYPE pg_leakhunt_(\S+)/m ? $1 : () } split /\n/, $text),
	join("\n", sort { $a cmp $b } 'up', split /\n/, ask($node, 'SELECT DISTINCT name FROM pg_leakhunt_metrics WHERE value IS NOT NULL')),
	'metrics have all names of the view');
is(scalar(() = $text =~ /^pg_leakhunt_/mg) - 1,
	ask($node, 'SELECT count(*) FROM pg_leakhunt_metrics WHERE value IS NOT NULL'), 'metrics have all rows of the view');
for my $client ('parca', 'prometheus')
{
	my ($head, $body) = replay($serving, "$FindBin::RealBin/../exporter/exchanges/$client.http");

	like($head, qr{^HTTP/1\.\d 200 OK\r\n}, "$client gets an answer");
	cmp_ok(length($body), '>', 100, "$client gets an answer that is not empty");
	like($head, qr/^Content-Length: @{[length $body]}\r?$/m, "$client gets its answer whole");
}
my $scraped = file_of('scraped.pb.gz', get('/debug/pprof/allocs')->{content});
like(run_tool('gzip', '-dc', $scraped), qr/leaking_top/, 'the profile of a scrape has the leak');
like(get('/')->{content}, qr{^/debug/pprof/allocs\?server=shop}m, 'the first page names the address of the profile');
is(get('/other')->{status}, 404, 'there is no page of another name');
is(ask($node, "SELECT count(*) $exporters"), 1, 'all scrapes have one connection');
is(ask($node, "SELECT count(*) FROM pg_stat_activity WHERE usename = 'monitor' AND application_name <> 'pg_leakhunt_export'"),
	0, 'a scrape leaves no other connection of its role');

# With 200 sessions, and 60 scrapers at a time.
my $busy = file_of('busy.sql', "SELECT pg_sleep(0.2);\n");
my $pgbench = IPC::Run::start(
	[ 'pgbench', '-n', '-c', 200, '-j', 2, '-T', 600, '-f', $busy, '-h', $node->host, '-p', $node->port, 'postgres' ],
	'>', '/dev/null', '2>', "$directory/pgbench.err");
wait_until(sub { ask($node, q{SELECT count(*) > 200 FROM pg_stat_activity WHERE backend_type = 'client backend'}) eq 't' },
	'200 sessions are there');
my %scrapers;
for my $scraper (1 .. 60)
{
	my $pid = fork // die $!;

	if (!$pid)
	{
		append_to_file("$directory/scrape.$scraper", get($scraper % 2 ? '/metrics' : '/debug/pprof/allocs')->{status});
		POSIX::_exit(0);
	}
	$scrapers{$pid} = 1;
}
my $most = 0;
while (%scrapers)
{
	my $now = ask($node, "SELECT count(*) $exporters");

	$most = $now if $now > $most;
	delete @scrapers{ grep { waitpid($_, POSIX::WNOHANG) == $_ } keys %scrapers };
}
my %statuses;
$statuses{ slurp_file($_) }++ for glob("$directory/scrape.*");
note(join ', ', map { "$_: $statuses{$_}" } sort keys %statuses);
cmp_ok($statuses{200}, '>', 0, 'scrapes of a busy server are answered');
is(join(' ', grep { !/^(200|503)$/ } keys %statuses), '', 'scrapes of a busy server are answered or told to come again: none waits in vain');
is($most, 1, 'scrapes of a busy server have one connection');
cmp_ok(threads_of($serving), '<=', 1 + 2 * 32, 'scrapes of a busy server have a bounded number of threads');
wait_until(sub { get('/metrics')->{status} == 200 }, 'a scrape is answered when the server is no longer busy');
$pgbench->signal('TERM');
$pgbench->finish;

# A server that restarts is found again at once, one that is down with patience.
$node->restart;
$text = scrape_is(1, 'the server is up after a restart');
$node->stop;
scrape_is(0, 'the server is down');
my $answer = get('/debug/pprof/allocs');
is($answer->{status}, 503, 'a server that is down has no profile');
cmp_ok($answer->{headers}{'retry-after'}, '>=', 1, 'a scrape of a server that is down is told to come again later');
like($answer->{content}, qr/^shop: .*No such file or directory.*; next try in \d+ s$/m, 'a scrape of a server that is down has the reason');
my $tries = () = slurp_file($serving->{log}) =~ /No such file or directory/g;
scrape_is(0, 'the server is still down') for 1 .. 20;
cmp_ok((() = slurp_file($serving->{log}) =~ /No such file or directory/g) - $tries, '<=', 2, '20 scrapes of a server that is down try to connect twice at most');
$node->start;
wait_until(sub { get('/metrics')->{content} =~ /^pg_leakhunt_up 1$/m }, 'a server that is up again is found');

# A session that stands still: we leave, and come again.
is(stop_program($serving), 'signal 15', 'serve ends when it is told to');
ok($node->poll_query_until('postgres', "SELECT count(*) = 0 $exporters"), 'the session of serve ends with it');
$serving = start_service(\%as_monitor, '--dsn=service=shop', '--connect-timeout=2', '--query-timeout=5');
$url = $serving->{url};
wait_until(sub { get('/metrics')->{content} =~ /^pg_leakhunt_up 1$/m }, 'the server is up for a service with less patience');
my $backend = ask($node, "SELECT pid $exporters");
kill 'STOP', $backend;
scrape_is(0, 'the session stands still');
like(slurp_file($serving->{log}), qr/^pg_leakhunt_export: shop: no answer within 7 s$/m, 'the log tells that a session stands still');
kill 'CONT', $backend;
wait_until(sub { get('/metrics')->{content} =~ /^pg_leakhunt_up 1$/m }, 'scrapes go on by another session');
ok($node->poll_query_until('postgres', "SELECT count(*) = 1 $exporters"), 'the session that stood still is gone');

# A statement that takes too long is ended by the server, and the session is kept.
$backend = ask($node, "SELECT pid $exporters");
my $locking = $node->background_psql('postgres');
$locking->query_safe('BEGIN; LOCK pg_leakhunt_metrics IN ACCESS EXCLUSIVE MODE');
scrape_is(0, 'a lock holds up the statement');
like(slurp_file($serving->{log}), qr/^pg_leakhunt_export: shop: canceling statement due to /m, 'the log tells that a statement took too long');
$locking->query_safe('COMMIT');
scrape_is(1, 'a lock no longer holds up the statement');
is(ask($node, "SELECT pid $exporters"), $backend, 'the session of a statement that took too long is kept');
$locking->quit;
stop_program($serving);

# Several servers, one of them without the module.
my $without = PostgreSQL::Test::Cluster->new('without');
$without->init;
$without->start;
ask($without, 'CREATE EXTENSION pg_leakhunt');
$serving = start_service({}, dsn('postgres'), '--name=a "b"', '--dsn=host=' . $without->host . ' port=' . $without->port);
$url = $serving->{url};
my $other = $without->host . ':' . $without->port;
$text = get('/metrics')->{content};
like($text, qr/^pg_leakhunt_up\{server="a \\"b\\""\} 1$/m, 'a server with the module is up');
like($text, qr/^pg_leakhunt_up\{server="\Q$other\E"\} 0$/m, 'a server without the module is not up');
like($text, qr/^pg_leakhunt_loaded\{server="\Q$other\E"\} 0$/m, 'a server without the module has its figures');
like(slurp_file($serving->{log}),
	qr/\Q$other\E: sessions do not have the module: put pg_leakhunt into shared_preload_libraries/, 'the log tells that a server is without the module');
is(get('/debug/pprof/allocs')->{status}, 404, 'a profile without the name of its server is not found');
is(get('/debug/pprof/allocs?server=a+%22b%22')->{status}, 200, 'a server with the module has a profile');
like(get("/debug/pprof/allocs?server=$other")->{content}, qr/sessions do not have the module/, 'a server without the module has no profile');
stop_program($serving);
is((run_export({}, 'push', dsn('postgres'), '--name=one', dsn('postgres'), '--name=two', '--keep=1', "$directory/files"))[0],
	0, 'a push of two servers is well');
is(scalar(() = glob("$directory/files/pg_leakhunt.{one,two}.*")), 2, 'each server has one file of its own');

# Unit files that systemd understands.
SKIP:
{
	skip 'no systemd-analyze', 1 unless IPC::Run::run([ 'which', 'systemd-analyze' ], '>', '/dev/null', '2>', '/dev/null');
	my $bindir = run_tool($ENV{PG_CONFIG}, '--bindir') =~ s/\n//r;
	my @units = map {
		my $unit = "$home/" . s{.*/}{}r;

		append_to_file($unit, slurp_file($_) =~ s{/usr/lib/postgresql/15/bin}{$bindir}r);
		$unit
	} glob("$FindBin::RealBin/../../monitoring/systemd/*");
	my $said = '';

	IPC::Run::run([ 'systemd-analyze', 'verify', '--man=no', @units ], '>&', \$said);
	is($said, '', 'systemd finds nothing wrong in its units');
}

$session->quit;
done_testing();
