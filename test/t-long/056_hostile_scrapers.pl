# pg_leakhunt_export serve among peers that want to keep scrapers out: a thousand
# connections that send a byte each second, few files to open, and names of others in
# Host.  Needs processes that keep hundreds of connections.  What a single connection
# may do is in test/exporter/unit_tests.py.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Exporting;
use IO::Select;
use LeakHunt;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

plan skip_all => "there is no psycopg2 for the system's python3"
  if system("/usr/bin/python3 -c 'import psycopg2' 2>/dev/null") != 0;
my $node = new_server('main');
my $dsn = '--dsn=host=' . $node->host . ' port=' . $node->port . ' dbname=postgres';
my $dribblers = 4;
my $connections = 250;
my $directory = PostgreSQL::Test::Utils::tempdir;

sub request
{
	my ($path, $host) = @_;

	return "GET $path HTTP/1.1\r\nHost: $host\r\nUser-Agent: Prometheus/2.42.0\r\nAccept-Encoding: gzip\r\n\r\n";
}

# Be a peer that holds a number of connections, sends a byte over each every second, and
# makes those anew that are ended; until the parent ends it.
sub dribble
{
	my ($program, $ready) = @_;
	my @sockets;

	local $SIG{PIPE} = 'IGNORE';
	while (1)
	{
		my $next = time + 1;

		for my $i (0 .. $connections - 1)
		{
			if ($sockets[$i] && IO::Select->new($sockets[$i])->can_read(0))
			{
				# There is nothing to be read but the reason why it was ended.
				sysread($sockets[$i], my $reason, 4096) or undef $sockets[$i];
			}
			$sockets[$i] = connect_to($program) if !$sockets[$i];
			syswrite($sockets[$i], substr("GET /metrics HTTP/1.1\r\nHost: localhost\r\n" . ('X-A: b' x 100), time % 500, 1))
			  if $sockets[$i];
		}
		append_to_file($ready, 'x');
		my $left = $next - time;
		sleep($left) if $left > 0;
	}
}

# Start these peers; returns their pids.
sub start_dribbling
{
	my ($program, $name) = @_;
	my @pids;

	for my $number (1 .. $dribblers)
	{
		my $pid = fork // die $!;

		if (!$pid)
		{
			eval { dribble($program, "$directory/$name.$number") };
			POSIX::_exit(1);
		}
		push @pids, $pid;
	}
	wait_until(sub { -s "$directory/$name.$_" or return 0 for 1 .. $dribblers; 1 }, "$name: all connections were made");
	return @pids;
}

# Scrape with a new connection, or with one that is kept; returns whether the figures came
# by that one.
sub is_scraped
{
	my ($program, $socket) = @_;

	$socket //= connect_to($program) or return 0;
	my ($head, $body) = exchange($socket, request('/metrics', 'localhost'));
	return ($head // '') =~ /^HTTP\/1\.\d 200 OK\r\n/ && ($body // '') =~ /^pg_leakhunt_up 1$/m;
}

sub withstands
{
	my ($name, $most_files) = @_;
	my $program = start_service({}, $dsn);
	my $rounds = 8;
	my ($new, $kept, $files) = (0, 0, 0);

	ok(is_scraped($program), "$name: a scrape is answered before");
	my $keeping = connect_to($program);
	is_scraped($program, $keeping) or die 'no answer';
	my @pids = start_dribbling($program, $name =~ s/\W+/_/gr);
	for (1 .. $rounds)
	{
		$new++ if is_scraped($program);
		# As Prometheus does, which asks again by a new connection if one is ended between two requests.
		$kept++ if is_scraped($program, $keeping) || is_scraped($program, $keeping = connect_to($program));
		$files = files_of($program) if files_of($program) > $files;
		sleep 0.5;
	}
	is($new, $rounds, "$name: each scrape by a new connection is answered");
	is($kept, $rounds, "$name: each scrape by a kept connection is answered");
	cmp_ok($files, '<=', $most_files, "$name: the number of open files is bounded");
	cmp_ok(threads_of($program), '<=', 1 + 2 * 32, "$name: the number of threads is bounded");
	cmp_ok(scalar(() = slurp_file($program->{log}) =~ /\n/g), '<', 30, "$name: the log is short");
	kill 'KILL', @pids;
	waitpid($_, 0) for @pids;
	ok(is_scraped($program), "$name: a scrape is answered after");
	is(stop_program($program), 'signal 15', "$name: serve ends when it is told to");
}

withstands('1,000 connections that dribble', 256 + 32);
{
	local $Exporting::file_limit = 80;
	withstands('1,000 connections and 80 open files', 80);
}

# Names of others in Host, as from a browser whose page has let its name point here.
my $program = start_service({}, $dsn, '--host=db1.example.com');
for my $case (
	[ 'evil.example.com', 421 ], [ '127.0.0.1.evil.com', 421 ], [ 'localhost', 200 ],
	[ '127.0.0.1:9717', 200 ], [ '[::1]:9717', 200 ], [ 'db1.example.com:9717', 200 ])
{
	my ($host, $status) = @$case;
	my ($head, $body) = exchange(connect_to($program), request('/metrics', $host));

	like($head, qr/^HTTP\/1\.\d $status /, "a request for Host $host is answered with $status");
	like($body, $status == 421 ? qr/\Anothing is served as '\Q$host\E': start pg_leakhunt_export serve with --host=NAME/ : qr/^pg_leakhunt_up 1$/m,
		"a request for Host $host gets what belongs to $status");
}
stop_program($program);

done_testing();
