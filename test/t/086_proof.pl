# What nothing points to is lost, to the byte, and who holds the rest is named: asked of an
# idle session by another one, of the session itself, and in the middle of a statement.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main');

# So many chunks of a few thousand were held by old words in unused memory: up to 17 one, on 18 with
# glibc 2.43 up to four, and up to eight on 19.
my $by_chance = $node->pg_version >= 18 ? 10 : 1;

# A session that has run these statements and is idle, and its pid.
sub session_after
{
	my (@statements) = @_;
	my $session = $node->background_psql('postgres');
	my $pid = session_pid($session);

	$session->query_safe($_) for 'SET pg_leakhunt.sample_interval = 1', @statements;
	return ($session, $pid);
}

# Figures of the chunks of a kind in contexts of a name, and who holds them.
sub proven
{
	my ($pid, $context, $kind) = @_;

	return $node->safe_psql('postgres', qq{
		SELECT coalesce(sum(lost_chunks), 0), coalesce(sum(lost_bytes), 0),
		       coalesce(sum(resettable_bytes), 0), coalesce(sum(chunks - lost_chunks), 0),
		       string_agg(DISTINCT held_by, '; ')
		FROM pg_leakhunt_proof($pid)
		WHERE context_name = '$context' AND kind LIKE '$kind'});
}

# The same of a call site.
sub proven_site
{
	my ($pid, $function, $context) = @_;

	return $node->safe_psql('postgres', qq{
		SELECT chunks, bytes, lost_chunks, lost_bytes, resettable_bytes, held_by
		FROM pg_leakhunt_proof($pid)
		WHERE site LIKE '$function%' AND context_name = '$context'});
}

# Each planted leak is lost as a whole.  Sizes are as the chunks take them.
my @lost = (
	[ 'leak_top(200, 3000)', 'TopMemoryContext', '256 bytes%', 3000, 256 ],
	[ 'leak_cache(2500, 300)', 'CacheMemoryContext', '4096 bytes%', 300, 4096 ],
	[ 'leak_generation(200, 3000)', 'leaker generation', '200 bytes%', 3000, 200, 'resettable' ],
	[ 'leak_slab(3000)', 'leaker slab', '64 bytes%', 3000, 64, 'resettable' ],
	[ 'leak_child(200, 3000)', 'leaker child', '256 bytes%', 3000, 256, 'resettable' ],
	[ 'leak_contexts(200, 3000)', 'leaker leaked context', '256 bytes%', 3000, 256 ],
	[ 'leak_empty_contexts(3000)', 'leaker empty context', 'memory context', 3000, 1024 ],
	[ 'leak_moved_contexts(200, 3000)', 'leaker moved context', '256 bytes%', 3000, 256 ],
	[ 'leak_at_depth(20, 200, 3000)', 'TopMemoryContext', '256 bytes%', 3000, 256 ],
	[ 'leak_ring(200, 3000)', 'TopMemoryContext', '256 bytes%', 3000, 256 ]);
my ($session, $pid) = session_after();
for (@lost)
{
	my ($call, $context, $kind, $count, $bytes, $resettable) = @$_;
	my @before = split /\|/, proven($pid, $context, $kind);

	$session->query_safe("SELECT $call");
	my @after = split /\|/, proven($pid, $context, $kind);
	# old addresses in memory that nobody uses may hold some of them, or their contexts
	my $lost = $after[0] - $before[0];
	my $freed = $after[2] - $before[2];
	ok($lost <= $count && $lost >= $count - $by_chance, "$call is lost, each chunk of it") || diag("$lost of $count");
	is($after[1] - $before[1], $lost * $bytes, "$call is lost, each byte of it");
	ok($resettable ? $freed == $lost * $bytes : $freed <= ($by_chance - 1) * $bytes,
		"$call can " . ($resettable ? 'be freed with its context' : 'be freed by nobody')) || diag("$freed");
}
is(proven_site($pid, 'leaking_in', 'leaker slab'), '3000|192000|3000|192000|192000|',
	'a call site is proven, too, exactly at interval 1');
$session->quit;

# A chunk whose requested size is a page has one at its start, whatever is before it.
($session, $pid) = session_after('SELECT leak_aligned(200, 50)');
my @aligned = split /\|/, proven_site($pid, 'leak', 'TopMemoryContext');
ok($aligned[0] == 50 && $aligned[2] >= 51 - $by_chance && $aligned[3] >= $aligned[1] * $aligned[2] / 51 && ($by_chance > 1 || $aligned[3] == $aligned[1]) && $aligned[4] == 0,
	'aligned chunks are lost, too, with what was allocated for them') || diag("@aligned");
$session->quit;

# What can be reached is held, and the root is named.
my @held = (
	[ 'hold_in_list(200, 3000)', 'hold_in_list', 1 ],
	[ 'hold_by_other_pointers(200)', 'hold_by_other_pointers', 2 ]);
for (@held)
{
	my ($call, $function, $sites) = @$_;

	($session, $pid) = session_after("SELECT $call");
	my @rows = split /\n/, proven_site($pid, $function, 'TopMemoryContext');
	is(scalar(grep { /^(\d+)\|\d+\|0\|0\|0\|the variable held_\w+ of leaker\.so$/ } @rows), scalar(@rows), "$call is held, and the variable is named");
	is(scalar(@rows), $sites, "$call has as many call sites as it should");
	$session->query_safe('SELECT forget_all()');
	@rows = split /\n/, proven_site($pid, $function, 'TopMemoryContext');
	# an old address may lead into the middle of what was held
	is(scalar(grep { my @row = split /\|/; ($by_chance > 1 ? $row[2] > 0 : $row[2] == $row[0] && $row[3] == $row[1]) && $row[4] == 0 } @rows), scalar(@rows), "$call is lost once it is forgotten");
	$session->quit;
}

# A hash table has a name, and what it loses with it can be freed by nobody.
($session, $pid) = session_after('SELECT hold_in_table(3000)');
my $of_table = "FROM pg_leakhunt_proof($pid) WHERE site LIKE 'hold_in_table%'";
like($node->safe_psql('postgres', "SELECT held_by, path $of_table AND lost_bytes = 0 ORDER BY bytes DESC LIMIT 1"),
	qr/^the variable held_table of leaker\.so, the hash table "leaker sessions"\|the variable held_table/,
	'a hash table is named');
is($node->safe_psql('postgres', "SELECT count(*) $of_table AND lost_bytes > 0"), '0', 'and nothing of it is lost');
# (the server remembers the context of the last one)
my $bytes = $node->safe_psql('postgres', "SELECT sum(bytes) $of_table");
$session->query_safe('SELECT forget_all()');
$session->query_safe('SELECT hold_in_table(10)');
is($node->safe_psql('postgres', "SELECT sum(lost_bytes), sum(resettable_bytes) $of_table"),
	"$bytes|0", 'a hash table that nobody has is lost as a whole, with its context');
$session->quit;

# Of a fresh session nothing is lost, and memory contexts are what they should be.  From 17 on
# the server forgets the buffer of the client's first packet, and from 19 on no more.
($session, $pid) = session_after('SELECT 1');
is($node->safe_psql('postgres', "SELECT coalesce(sum(lost_chunks - resettable_chunks), 0), coalesce(max(lost_bytes) <= 256, true) FROM pg_leakhunt_proof($pid) WHERE lifetime = 'session' AND kind IS NOT NULL AND lost_bytes > resettable_bytes"),
	$node->pg_version >= 17 && $node->pg_version < '19beta1' ? '1|t' : '0|t', 'a fresh session has lost nothing');

# One that has kept no sample gets its profile by being asked for, and only by who may see it.
my $small = $node->background_psql('postgres');
my $small_pid = session_pid($small);
my $state_of = "SELECT state FROM pg_leakhunt_processes WHERE pid = $small_pid";
is($node->safe_psql('postgres', $state_of), 'small', 'a session that has kept no sample has no profile');
$node->safe_psql('postgres', 'CREATE ROLE nosy LOGIN');
like(($node->psql('postgres', "SELECT * FROM pg_leakhunt_proof($small_pid)", extra_params => [ '-U', 'nosy' ]))[2],
	qr/WARNING: .*process $small_pid/, 'nobody who may not see it has it proven');
is($node->safe_psql('postgres', $state_of), 'small', 'nor given a profile');
cmp_ok($node->safe_psql('postgres', "SELECT sum(bytes) FROM pg_leakhunt_proof($small_pid)"), '>', 200000,
	'a session that has kept no sample is proven');
is($node->safe_psql('postgres', $state_of), 'live', 'and has a profile from then on');
cmp_ok($node->safe_psql('postgres', 'SELECT sum(bytes) FROM pg_leakhunt_proof(pg_backend_pid())'), '>', 200000,
	'so is one that proves itself');
$small->quit;

# Of contexts that are lost as a whole the explanation says so.
$session->query_safe($_) for ('SELECT leak_contexts(200, 75000)', 'SELECT pg_sleep(0.3)') x 2;
$node->safe_psql('postgres', "SELECT count(*) FROM pg_leakhunt_proof($pid)");
like($node->safe_psql('postgres', "SELECT explanation FROM pg_leakhunt_explain($pid)"),
	$by_chance > 1 ? qr/othing point(?:s|ed) to (?:1499[0-9][0-9]|150000) of these contexts: no code can use or delete those before the session ends\.\n/ :
	qr/othing point(?:s|ed) to (?:149999|150000) of these contexts: no code can use or delete those before the session ends\.\n/,
	'contexts that are lost as a whole are told');

# Nobody sees what chunks say with redact, and who may not see the session sees nothing.
$session->query_safe("SELECT leak_named_context('chunks may say this ' || i, 100) FROM generate_series(1, 50) i");
my $content = "WHERE content LIKE '%chunks may say this%'";
isnt($node->safe_psql('postgres', "SELECT count(*) FROM pg_leakhunt_proof($pid) $content"), '0',
	'chunks that are text are shown');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_leakhunt_proof($pid, redact => true) $content"), '0',
	'but not with redact');
$session->query_safe("SELECT leak_named_context('a long text of users ' || repeat('y', 50), 100) FROM generate_series(1, 50) i");
is($node->safe_psql('postgres', "SELECT max(content) FROM pg_leakhunt_proof($pid) WHERE content LIKE '%a long text%'"),
	'a long text of users ' . 'y' x 19, 'of a longer text, 40 characters are shown');
$node->safe_psql('postgres', 'CREATE ROLE stranger LOGIN');
my ($out, $err);
$node->psql('postgres', "SELECT count(*) FROM pg_leakhunt_proof($pid)",
	extra_params => [ '-U', 'stranger' ], stdout => \$out, stderr => \$err);
is($out, '0', 'a stranger sees no row');
like($err, qr/WARNING/, 'and is told why');
$session->quit;

# In the middle of a statement, and of the session itself.
($session, $pid) = session_after();
$session->query_until(qr//, "SELECT leak_top(200, 1000000000000);\n");
ok($node->poll_query_until('postgres', "SELECT coalesce(max(live_bytes), 0) > 1000000 FROM pg_leakhunt_report($pid)"),
	'a statement is at work');
my ($chunks, $lost) = split /\|/, $node->safe_psql('postgres',
	"SELECT chunks, lost_chunks FROM pg_leakhunt_proof($pid) WHERE site LIKE 'leaking_top%'");
cmp_ok($chunks - $lost, '<=', 2 * $by_chance, 'in its middle all is lost but what it has just now');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
eval { $session->quit };
my ($proves_itself) = $node->safe_psql('postgres', "SET pg_leakhunt.sample_interval = 1; SELECT leak_top(200, 3000); SELECT lost_chunks FROM pg_leakhunt_proof(pg_backend_pid()) WHERE site LIKE 'leaking_top%'") =~ /(\d+)/;
ok($proves_itself <= 3000 && $proves_itself >= 3001 - $by_chance, 'a session proves itself') || diag($proves_itself);

# What only a function that runs has is held by the stack, and lost when that is over.
$session = $node->background_psql('postgres', on_error_stop => 0);
$pid = session_pid($session);
$session->query_safe('SET pg_leakhunt.sample_interval = 1');
$session->query_until(qr//, "SELECT hold_on_stack(500, 3000);\n");
ok($node->poll_query_until('postgres', "SELECT sum(live_count) = 3000 FROM pg_leakhunt_report($pid) WHERE site LIKE 'hold_on_stack%'"),
	'a function has chunks');
my @on_stack = split /\|/, proven_site($pid, 'hold_on_stack', 'TopMemoryContext');
is($on_stack[2], '0', 'what it has is not lost');
is($on_stack[5], 'the stack', 'but held by the stack');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
ok($node->poll_query_until('postgres', "SELECT state = 'idle' FROM pg_stat_activity WHERE pid = $pid"), 'it is cancelled');
@on_stack = split /\|/, proven_site($pid, 'hold_on_stack', 'TopMemoryContext');
cmp_ok($on_stack[2], '>=', 3000 - $by_chance, 'then it is lost');
eval { $session->quit };

# Nothing stays: no file of a process that is gone, and no child.
$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'");
is(join(' ', grep { /proof/ } map { s{.*/}{}r } glob(profile_directory($node) . '/*')), '', 'no proof stays');

done_testing();
