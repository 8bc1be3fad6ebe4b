# Full tables, full disks, refused memory, critical sections, and what a live sample
# takes: needs servers with small limits, and figures of the kernel.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main', <<'CONF');
pg_leakhunt.scope = long_lived
pg_leakhunt.max_live_samples = 1000
pg_leakhunt.max_stack_depth = 50
pg_leakhunt.dump_directory = 'dumps'
pg_leakhunt.max_profile_size = '256kB'
CONF

# A session that samples every allocation from now on, and its pid.
sub exact_session
{
	my $session = $node->background_psql('postgres');

	$session->query_safe('SET pg_leakhunt.sample_interval = 1');
	return ($session, session_pid($session));
}

# A parallel worker resets all settings before it takes over its leader's.
my $force_parallel =
  $node->pg_version < 16 ? 'force_parallel_mode' : 'debug_parallel_query';
is( $node->safe_psql(
		'postgres', qq{
		SET $force_parallel = on;
		SELECT count(*) FROM pg_class WHERE relname = 'pg_class'}),
	1,
	'parallel workers start with fixed settings that are not the default');

# More live samples than fit: dropped, counted; and the rest stays right.
my ($session, $pid) = exact_session();
$session->query_safe('SELECT leak_top(10, 5000)');
my $full = process_row($node, $pid);
cmp_ok($full->{samples_live}, '<=', 1024,
	'live samples end at the limit, a power of two');
cmp_ok($full->{samples_live}, '>', 1000, 'live samples are kept up to the limit');
cmp_ok($full->{samples_dropped}, '>', 3900, 'live samples beyond the limit are counted as dropped');
my $row = report_row($node, $pid, 'leaking_top');
is($row->{live_bytes}, 10 * $row->{samples}, 'the live samples that are kept are exact');
$session->query_safe('SELECT allocate_in_balance(10, 5000)');
cmp_ok(process_row($node, $pid)->{samples_live},
	'>', 1000, 'samples that come and go take no room from others');
$session->quit;

# More call sites than fit: one row for the rest, and no loss of the total.
($session, $pid) = exact_session();
$session->query_safe("SELECT leak_named_context('context $_', 10) AS context_$_")
  for 1 .. 850;
my ($count, $rest) = split /\|/,
  $node->safe_psql(
	'postgres', qq{
	SELECT sum(live_count) FILTER (WHERE 'leak_named_context' = ANY (functions(stack))),
		sum(live_count) FILTER (WHERE site = '[no room]' AND context_name IS NULL)
	FROM pg_leakhunt_report WHERE pid = $pid});
cmp_ok($rest, '>', 0, 'call sites beyond the limit are one row');
cmp_ok($count + $rest, '>=', 850, 'a full profile loses nothing of the total');
cmp_ok(process_row($node, $pid)->{samples_dropped},
	'>=', $rest, 'what the catch-all site got is counted as dropped');
is(process_row($node, $pid)->{profile_bytes},
	262144, 'a full profile keeps to its size');
is( $node->safe_psql(
		'postgres', qq{
		SELECT sum(r.live_count) = min(p.live_count)
		FROM pg_leakhunt_report r JOIN pg_leakhunt_sampling p USING (pid)
		WHERE pid = $pid}),
	't',
	'the sites of a full profile add up to the process');
$session->quit;

# Statements beyond their share of the profile lose their text only.
($session, $pid) = exact_session();
$session->query_safe("SELECT leak_top(10, 1) AS statement_$_ /* " . ("$_ " x 500) . " */")
  for 1 .. 200;
my ($known, $unknown) = split /\|/,
  $node->safe_psql(
	'postgres', qq{
	SELECT count(query), sum(live_count) FILTER (WHERE query IS NULL)
	FROM pg_leakhunt_report WHERE pid = $pid AND function_of(site) = 'leaking_top'});
cmp_ok($known, '>', 10, 'some of too many statements have their text');
cmp_ok($unknown, '>', 10, 'others of too many statements have none');
cmp_ok(
	$node->safe_psql('postgres',
		"SELECT sum(octet_length(query)) FROM (SELECT DISTINCT query FROM pg_leakhunt_report WHERE pid = $pid) q"
	),
	'<=',
	65536,
	'statements keep to a quarter of the profile');
$session->quit;

# In a critical section nothing is recorded, but it is counted.
($session, $pid) = exact_session();
$session->query_safe('SELECT allocate_in_critical_section(10, 300)');
$row = report_row($node, $pid, 'allocate_in_critical_section');
is($row->{live_count} || 0, 0, 'nothing is recorded in a critical section');
is(process_row($node, $pid)->{samples_dropped}, 300, 'samples of a critical section are counted as lost');

# Refused memory, by error and by NULL: the old chunk is there, exactly once.
my ($result, $stdout, $stderr) = $node->psql('postgres',
	'SELECT refused_allocation((1::bigint << 46))');
like($stderr, qr/out of memory/, 'an error is thrown through the hooks');
$session->query(
	"DO \$\$ BEGIN PERFORM refused_allocation((1::bigint << 46)); EXCEPTION WHEN out_of_memory THEN NULL; END \$\$"
) for 1 .. 5;
$row = report_row($node, $pid, 'refused_allocation');
is("$row->{live_count} $row->{live_bytes} $row->{total_count}",
	'5 500 5', 'a chunk whose growth is refused is counted once');
$session->quit;
$node->stop;

# What a live sample takes: by how much a session grows by chunks that stay and are
# samples, beyond one whose chunks are none.  It is counted in its contexts, and by itself.
my $chunks = 900000;
my $roomy = new_server('roomy', '');

# By how many bytes, and of which process, that then waits.
sub growth_by_chunks
{
	my ($first) = @_;
	my $session = $roomy->background_psql('postgres');
	my $memory = q{SELECT (SELECT sum(total_bytes) FROM pg_backend_memory_contexts) + coalesce(overhead_bytes, 0)
		FROM pg_leakhunt_sampling WHERE pid = pg_backend_pid()};

	$session->query_safe($first);
	$session->query_safe("SELECT leak_top(64, 10); $memory");
	my $before = $session->query_safe($memory);
	$session->query_safe("SELECT leak_top(64, $chunks)");
	return ($session->query_safe($memory) - $before, $session);
}

my ($unsampled, $bare) =
  growth_by_chunks('SELECT pg_leakhunt_stop(pg_backend_pid())');
my ($sampled, $exact) =
  growth_by_chunks('SET pg_leakhunt.sample_interval = 1');
my $large = process_row($roomy, session_pid($exact));
is($large->{samples_dropped}, 0, 'at interval 1 no sample of many chunks is dropped');
cmp_ok($large->{samples_live}, '>=', $chunks, 'at interval 1 each of many chunks is a live sample');
SKIP:
{
	skip 'a sanitizer or Valgrind takes memory of its own', 1
	  if !malloc_tells(session_pid($exact));
	note("$chunks chunks take $unsampled bytes, and $sampled where they are sampled");
	cmp_ok(($sampled - $unsampled) / $chunks, '<=', 48, 'bytes for each live sample');
}
$_->quit for $bare, $exact;
$roomy->stop;

# A file system that is too small for profiles: no files, and never a crash.
SKIP:
{
	skip 'no small file system is mounted', 4 if !$ENV{SMALL_DISK};
	my $directory = "$ENV{SMALL_DISK}/profiles";
	my $small = new_server('small', <<"CONF");
pg_leakhunt.profile_directory = '$directory'
pg_leakhunt.sample_interval = 1
pg_leakhunt.dump_min_bytes = 4MB
autovacuum = off
CONF
	my @sessions = map { $small->background_psql('postgres') } 1 .. 12;
	my $pids = join ', ', map { session_pid($_) } @sessions;
	for my $each (@sessions)
	{
		$each->query_safe("SELECT leak_named_context('context $_', 10) AS context_$_")
		  for 1 .. 200;
	}
	my $published =
	  $small->safe_psql('postgres',
		"SELECT count(*) FROM pg_leakhunt_processes WHERE backend_type = 'client backend' AND state = 'live'"
	  );
	is($published, 0, 'no profile takes the last megabyte');
	$_->query_safe('SELECT leak_top(10, 100)') for @sessions;
	is( ask($small,
			"SELECT count(*) FROM pg_stat_activity WHERE pid IN ($pids)"),
		12,
		'sessions without room for a profile go on');
	$_->quit for @sessions;
	unlike(slurp_file($small->logfile),
		qr/PANIC|terminated by signal/, 'no process crashes without room for profiles');
	is( scalar(
			my @dumps = glob($small->data_dir . '/pg_leakhunt/*.exit.profile')),
		0,
		'sessions that hold little leave no dump');
	$small->stop;
}

done_testing();
