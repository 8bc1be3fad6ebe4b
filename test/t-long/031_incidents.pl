# Incidents that people report, each in a session of its own, at default settings:
# the suspect that it becomes within seconds, and what is left of it when its
# process is gone.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

my $leaker = $ENV{LEAKER} =~ s/leaker$//r;
my $scripts = "$FindBin::RealBin/../incidents";
my $node = new_server('main', "autovacuum = off\nmax_connections = 40\n", allows_streaming => 'logical');

$node->command_ok(
	[
		'psql', '-X', '-q', '-d', $node->connstr('postgres'),
		'-v', 'ON_ERROR_STOP=1', '-v', "folder=$leaker", '-f', "$scripts/setup.psql"
	],
	'what incidents need is there');
$node->safe_psql(
	'postgres', q{
	CREATE ROLE role_0 SUPERUSER LOGIN;
	CREATE ROLE role_1 SUPERUSER LOGIN;
	CREATE ROLE role_2 SUPERUSER LOGIN;
	CREATE TABLE triggering (i int);
	CREATE TRIGGER holding BEFORE INSERT ON triggering
		FOR EACH ROW EXECUTE FUNCTION hold_in_trigger();
	CREATE TABLE decoded (i int, t text);});

my ($has_perl) = $node->psql('postgres', 'CREATE EXTENSION IF NOT EXISTS plperlu') == 0;
$node->safe_psql('postgres',
	q{CREATE FUNCTION remember(kilobytes int) RETURNS void LANGUAGE plperlu AS
		$$ push @{ $_SHARED{kept} }, 'x' x ($_[0] * 1000) $$}) if $has_perl;

# Statements, with a rest after each.
sub repeat
{
	my ($times, $rest, $statement) = @_;

	return map { ($statement =~ s/%d/$_/gr . ";", "SELECT pg_sleep($rest);") } 1 .. $times;
}

# What each session does, and what it is then suspect of: verdict, function and
# context, as the scripts in test/incidents have it.
my %incidents = (
	'a trigger' => [
		['INSERT INTO triggering SELECT i FROM generate_series(1, 300) i, pg_sleep(0.04 * (i % 2));'],
		'query holding_in TopTransactionContext'
	],
	'a procedure' => [
		[
			q{CREATE PROCEDURE keep_texts() LANGUAGE plpgsql AS $$ DECLARE kept text[]; BEGIN
				FOR i IN 1 .. 3000000 LOOP kept := kept || repeat('x', 64);
				IF i % 100000 = 0 THEN PERFORM pg_sleep(0.2); END IF; END LOOP; END $$;},
			'CALL keep_texts();'
		],
		'query * expanded array'
	],
	'contexts' =>
	  [ [ repeat(400, 0.03, 'SELECT hold_contexts(200)') ], 'contexts * kept context' ],
	'kept by malloc' => [ ['SELECT free_and_keep(500);'], 'freed - -' ],
	(
		$has_perl ?
		  ('PL/Perl' => [ [ repeat(60, 0.1, 'SELECT remember(5000)') ], 'malloc - -', 'libperl.so' ])
		: ()));

# Add those of the first twenty scripts whose sessions live and are suspects, if they
# can be played here.
for my $file (glob "$scripts/[01][0-9]_*.sql")
{
	my $script = slurp_file($file);
	my ($suspect) = $script =~ /^-- suspect: (.*)$/m;
	my ($needs) = $script =~ /^-- needs: (.*)$/m;
	my ($name) = $file =~ m{(\w+)\.sql$};

	next if $suspect eq 'none' || $script =~ /^-- (asked|preloaded): /m;
	next if $needs && ask($node, "SELECT $needs") ne 't';
	$incidents{$name} = [ [$script], $suspect ];
}

# Start a session that then stays.  Nobody reads its output meanwhile, which may be
# errors only.
my %sessions;
sub start_session
{
	my ($name, $statements) = @_;
	my $output = '';

	# of three roles, as the log tells ten exits of a role in a minute
	local $ENV{PGAPPNAME} = $name;
	local $ENV{PGUSER} = 'role_' . (keys(%sessions) % 3);
	my $script = $node->basedir . '/' . ($name =~ s/\W/_/gr) . '.sql';
	append_to_file($script, join "\n", @$statements, 'SELECT pg_sleep(3600);', '');
	$sessions{$name} = {
		output => \$output,
		began => time,
		run => IPC::Run::start(
			[ 'psql', '-X', '-q', '-o', '/dev/null', '-d', $node->connstr('postgres'), '-f', $script ],
			'<', '/dev/null', '>&', \$output)
	};
}

# Decoding begins before what is decoded.  Newer minor releases want to know which
# libraries may do that.
set_and_reload($node, 'output_plugin_libraries' => "${leaker}leaking_decoding")
  if $node->safe_psql('postgres', "SELECT count(*) FROM pg_settings WHERE name = 'output_plugin_libraries'");
my $decoding = 'decoding';
$node->safe_psql('postgres',
	"SELECT pg_create_logical_replication_slot('leaking', '${leaker}leaking_decoding')");
{
	local $ENV{PGAPPNAME} = $decoding;
	my $output = '';
	$sessions{$decoding} = {
		output => \$output,
		began => time,
		run => IPC::Run::start(
			[
				'pg_recvlogical', '-d', $node->connstr('postgres') . " application_name=$decoding",
				'-S', 'leaking', '--start', '-f', '-'
			],
			'<', '/dev/null', '>&', \$output)
	};
}
start_session('decoded', [ repeat(200, 0.02, "INSERT INTO decoded SELECT i, 'row %d' FROM generate_series(1, 500) i") ]);
start_session($_, $incidents{$_}->[0]) for sort keys %incidents;
$incidents{$decoding} = [ [], 'leak leaking_change CacheMemoryContext' ];

# The suspects of all sessions, as "verdict function context", by application.
sub suspects
{
	my @rows = split /\n/, $node->safe_psql(
		'postgres', q{
		SELECT application_name, pid, verdict, coalesce(function_of(site), '-'),
			coalesce(context_name, '-'), translate(evidence, E'\n', ' ')
		FROM pg_leakhunt_suspects WHERE verdict <> 'growing'});
	my %suspects;

	for (@rows)
	{
		my ($name, $pid, $verdict, $function, $context, $evidence) = split /\|/, $_, 6;
		push @{ $suspects{$name} },
		  { pid => $pid, text => "$verdict $function $context", evidence => $evidence };
	}
	return \%suspects;
}

# Of the suspects of a session, the one that is expected, and the texts of the others.
sub expected_of
{
	my ($name, $suspects) = @_;
	my $wanted = join ' ',
	  map { quotemeta =~ s/\\\*/.*/gr } split / /, $incidents{$name}->[1], 3;
	my ($right) = grep { $_->{text} =~ /^$wanted$/ } @$suspects;

	return ($right, map { $_->{text} } grep { $_->{text} !~ /^$wanted$/ } @$suspects);
}

my (%found, %wrong);
my $until = time + $PostgreSQL::Test::Utils::timeout_default;
while (keys %found < keys %incidents && time < $until)
{
	my $suspects = suspects();

	for my $name (keys %$suspects)
	{
		next if !$incidents{$name};
		my ($right, @others) = expected_of($name, $suspects->{$name});
		$wrong{$name}{$_} = 1 for @others;
		$found{$name} //= { %$right, after => time - $sessions{$name}{began} }
		  if $right;
	}
	sleep 0.2;
}

for my $name (sort keys %incidents)
{
	my $found = $found{$name};

	ok($found, "$name: the suspect is $incidents{$name}->[1]")
	  or diag('instead: ' . join(', ', keys %{ $wrong{$name} }) . "\n"
		  . ${ $sessions{$name}{output} }
		  . $node->safe_psql('postgres',
			"SELECT p.* FROM pg_leakhunt_processes p JOIN pg_stat_activity a USING (pid) WHERE a.application_name = '$name'"));
	next if !$found;
	note(sprintf '%s: %s, after %.1f s: %s', $name, $found->{text}, $found->{after}, $found->{evidence});
	like($found->{evidence}, qr/\Q$incidents{$name}->[2]\E/, "$name: the evidence names the library")
	  if $incidents{$name}->[2];
}

# Columns that only some findings have.
is( ask($node, q{
		SELECT verdict, site, context_name, transactions, growth_bytes, since FROM pg_leakhunt_suspects
		WHERE (verdict IN ('contexts', 'query') OR site IS NULL) <> (transactions IS NULL) OR
			(growth_bytes IS NULL) <> (since IS NULL) OR
			(since IS NULL AND site IS NULL AND verdict IN ('malloc', 'mapped'))}),
	'', 'suspects have transactions only with a site, and growth only with its beginning');

# What is left when they are gone: a line in the log, and a dump with the site, or
# with the figures.  By then each holds much, or was larger than 256 MB.
my %pids = map { $_ => $found{$_}{pid} } keys %found;
wait_until(
	sub {
		ask($node, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE '%pg_sleep(3600)%'") >=
		  keys(%sessions) - 1;
	},
	'all sessions have done what they do');

$_->{run}->kill_kill for values %sessions;
$node->safe_psql('postgres',
	"SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND (backend_type = 'walsender' OR application_name IN ("
	  . join(', ', map { "'$_'" } keys %sessions) . '))');
for my $name (sort keys %pids)
{
	my ($verdict, $function, $context) = split / /, $found{$name}{text}, 3;

	wait_until(
		sub {
			ask($node, "SELECT count(*) FROM pg_leakhunt_dumps WHERE pid = $pids{$name} AND reason = 'exit'") > 0;
		},
		"$name: the session leaves a dump");
	my ($line, $detail) = slurp_file($node->logfile) =~
	  /\[$pids{$name}\].* LOG:  (leak approximation summary: .*)\n.*DETAIL:  (.*)/;
	like($line, qr/"pg_leakhunt\/$pids{$name}\.\d+\.exit\.\w+"$/, "$name: the log has a summary");
	like($detail, qr/, application "\Q$name\E"\.  /, "$name: the detail in the log names the application");
	note("$line\n$detail");
	next if $function eq '-';

	# several call sites allocate in contexts of a kind: by now another may have the most
	my $any = $verdict eq 'contexts';
	my $sites = $any ? qr/\w+/ : qr/\Q$function\E|\w+\.so\+0x[0-9a-f]+ \(called in \w+\)/;
	like($detail, qr/ by (?:$sites) in \Q$context\E(?:, \d+% of it by .+? and the functions that it calls)?(?:, allocated in .+?)?\.  /, "$name: the detail in the log names the site");
	my $file = ask($node, "SELECT file FROM pg_leakhunt_dumps WHERE pid = $pids{$name} ORDER BY created_at DESC LIMIT 1");
	is( ask($node, "SELECT sum(peak_bytes) > 1000000 FROM pg_leakhunt_report('$file') WHERE "
			  . ($any ? "context_name = '$context'" : "function_of(site) = '$function'")),
		't', "$name: the dump has the site");
}
$node->stop;
done_testing();
