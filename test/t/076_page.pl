# The page of a process and of a dump: its figures against those of the views, what it
# shows in a real browser, and hostile names in it.  Needs files, and Chromium to open
# them.  test/page-axe runs it with AXE, the script of a checker.
use strict;
use warnings;

use FindBin;
use JSON::PP;
use lib "$FindBin::RealBin/../perl";
use Browser;
use Dumps;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my ($enter, $escape, $down, $right) = ("\x{E007}", "\x{E00C}", "\x{E015}", "\x{E014}");
my $node = new_server('main', "pg_leakhunt.sample_interval = '64kB'\ntrack_activities = on\n",
	extra => [ '--encoding=UTF8', '--locale=C' ]);
my $dumps = $node->data_dir . '/pg_leakhunt';
my $directory = PostgreSQL::Test::Utils::tempdir;
my $break = q{</script><script>document.title="broken"</script><img src=x onerror='document.title="broken"'>"'&amp;};

# A page as a file, and the file.
sub save
{
	my ($name, $call) = @_;
	my $path = "$directory/$name.html";

	open my $out, '>', $path or die $!;
	print $out $node->safe_psql('postgres', "SELECT $call"), "\n";
	close $out or die $!;
	return $path;
}

# The document of a page.
sub document_of
{
	my ($path) = @_;
	my ($json) = slurp_file($path) =~ m{<script type="application/json" id="document">(.*?)</script>}s;

	return decode_json($json);
}

# The rows of a query, each with its columns separated by bars, in order.
sub rows
{
	return [ sort split /\n/, $node->safe_psql('postgres', $_[0]) ];
}

# A process that has a statement, a routine, a baseline and a history.
my $session = $node->background_psql('postgres');
my $pid = session_pid($session);
$session->query_safe(q{
	SET application_name = 'shop';
	CREATE FUNCTION hoard(n int) RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM leak_top(1000, n); END $$});
for my $round (1 .. 6)
{
	$session->query_safe("SELECT hoard(2000); SELECT leak_cache(1000, 100); SELECT pg_sleep(1.1)");
	$session->query_safe("SELECT pg_leakhunt_baseline($pid)") if $round == 3;
}
my $file = $node->safe_psql('postgres', "SELECT pg_leakhunt_dump($pid, true)");
my $path = save('page', "pg_leakhunt_page('$file')");
my $page = document_of($path);

# Figures: the dump is one snapshot, of which page and views must say the same.
my @names = @{ $page->{names} };
my @frames = map { $names[ $_->[0] ] . $names[ $_->[1] ] } @{ $page->{frames} };
sub site_of
{
	my ($stack) = @_;
	my ($node, $depth) = @{ $page->{stacks}[$stack] };

	$node -= $page->{nodes}[ 2 * $node - 2 ] for 1 .. $depth;
	return $frames[ $page->{nodes}[ 2 * $node - 1 ] ];
}
my @sites = map {
	my ($stack, $context, $lifetime, undef, $live, $count, $error, undef, $growth, $growth_count, $peak, $total,
		$total_count, $samples) = @$_;

	join '|', site_of($stack), $page->{stacks}[$stack][2], map { $_ // '' } defined $context ? $names[$context] : '',
	  defined $lifetime ? $names[$lifetime] : '', $live, $count, $error, $growth, $growth_count, $peak, $total,
	  $total_count, $samples
} @{ $page->{sites} };
is_deeply([ sort @sites ],
	rows("SELECT site, stack_id, context_name, lifetime, live_bytes, live_count, error_bytes, growth_bytes, growth_count, peak_bytes, total_bytes, total_count, samples FROM pg_leakhunt_report('$file')"),
	'call sites have the figures of pg_leakhunt_report');
my $ages = 0;
$ages += scalar(@{ $_->[16] }) / 5 for @{ $page->{sites} };
is_deeply(
	[ sort map {
			my ($row, @spans) = ($_, @{ $_->[16] });
			my @rows;

			push @rows, join '|', $page->{stacks}[ $row->[0] ][2], $spans[2], $spans[3], $spans[4], $page->{origin} + $spans[0], $page->{origin} + $spans[1]
			  and splice @spans, 0, 5 while @spans;
			@rows
		} @{ $page->{sites} } ],
	rows("SELECT stack_id, live_bytes, error_bytes, total_bytes, (extract(epoch FROM allocated_from) * 1000000)::bigint, (extract(epoch FROM allocated_until) * 1000000)::bigint FROM pg_leakhunt_ages('$file')"),
	'call sites have the ages of pg_leakhunt_ages');
my $history = $page->{history};
is_deeply(
	[ map { join '|', $page->{origin} + $history->{at}[$_], map { $_ // '' } $history->{live}[$_], $history->{contexts}[$_], $history->{malloc}[$_], $history->{malloc_free}[$_], $history->{own}[$_] } 0 .. $#{ $history->{at} } ],
	[ split /\n/, $node->safe_psql('postgres', "SELECT (extract(epoch FROM at) * 1000000)::bigint, string_agg(coalesce(bytes::text, ''), '|' ORDER BY array_position('{live_bytes,context_bytes,malloc_bytes,malloc_free_bytes,rss_anon_bytes}', name)) FROM pg_leakhunt_history('$file') GROUP BY at ORDER BY at") ],
	'the chart has the points of pg_leakhunt_history');
is_deeply(
	[ sort map { my $family = $_; map { join '|', $family->{name}, $page->{origin} + $history->{at}[$_], $family->{bytes}[$_] // '' } 0 .. $#{ $history->{at} } } @{ $page->{families} } ],
	rows("SELECT name, (extract(epoch FROM at) * 1000000)::bigint, bytes FROM pg_leakhunt_history('$file', by => 'family')"),
	'families have the points of pg_leakhunt_history');
cmp_ok(scalar(@{ $page->{followed_sites} }), '>', 0, 'a large call site has a history');

# The process itself: of two moments, so that only what does not change is compared.
my $live = document_of(save('live', "pg_leakhunt_page($pid)"));
is_deeply(
	[ sort map { join '|', map { $_ // '' } @$_[ 0, 1, 2, 3, 4, 6, 7 ] } @{ $live->{contexts} } ],
	rows("SELECT context_name, lifetime, instances, context_bytes, live_bytes, growth_bytes, sites FROM pg_leakhunt_contexts WHERE pid = $pid"),
	'contexts have the figures of pg_leakhunt_contexts');
is( join('|', map { $live->{totals}{$_} } qw(live_bytes peak_bytes samples_live context_bytes)),
	$node->safe_psql('postgres', "SELECT live_bytes, peak_bytes, samples_live, context_bytes FROM pg_leakhunt_processes JOIN pg_leakhunt_sampling USING (pid) WHERE pid = $pid"),
	'the totals are those of pg_leakhunt_processes');
my $explained = $node->safe_psql('postgres', "SELECT explanation FROM pg_leakhunt_explain($pid, 'json')");
is( $live->{explanation}{findings}[0]{evidence}, decode_json($explained)->{findings}[0]{evidence},
	'the evidence is that of pg_leakhunt_explain');

# A proof, which the dump has, too.
my ($status, $rows_proven, $warnings) = $node->psql('postgres', "SELECT count(*) FROM pg_leakhunt_proof($pid)");
cmp_ok($rows_proven, '>', 3, 'an idle session is proven') or diag($warnings);
my $proven_file = $node->safe_psql('postgres', "SELECT pg_leakhunt_dump($pid)");
my $proven_path = save('proven', "pg_leakhunt_page('$proven_file')");
my $proof = document_of($proven_path)->{proof};
my $held = 0;
is_deeply(
	[ sort map { join '|', map { $_ // '' } @$_ } grep { $_->[7] > 0 } @{ $proof->{kinds} } ],
	rows("SELECT context_name, lifetime, kind, content, chunks, bytes, lost_chunks, lost_bytes, resettable_bytes FROM pg_leakhunt_proof('$proven_file') WHERE kind IS NOT NULL AND lost_bytes > 0"),
	'what is lost is what pg_leakhunt_proof says');
$held += $_->[2] for @{ $proof->{holdings} };
cmp_ok($held, '<=', $proof->{bytes} - $proof->{lost_bytes}, 'holders hold no more than is held');
cmp_ok($held, '>', ($proof->{bytes} - $proof->{lost_bytes}) / 8, 'holders hold much of what is held; chunks of small kinds have none');
is($page->{proof}, undef, 'a page of what was not proven says nothing of holders');

# The server.
my $server_path = save('server', 'pg_leakhunt_page()');
my $server = document_of($server_path);
is_deeply(
	[ sort map { join '|', $_->{pid}, map { $_ // '' } $_->{backend_type}, $_->{username}, $_->{live_bytes}, $_->{context_bytes} } grep { $_->{pid} == $pid } @{ $server->{processes} } ],
	rows("SELECT pid, backend_type, username, live_bytes, context_bytes FROM pg_leakhunt_processes WHERE pid = $pid"),
	'the page of the server has the figures of pg_leakhunt_processes');
# a session that is just ending may be on the page, and then be gone
wait_until(
	sub {
		return @{ document_of(save('all', 'pg_leakhunt_page()'))->{processes} } - 1 ==
		  $node->safe_psql('postgres', 'SELECT count(*) FROM pg_leakhunt_processes WHERE pid <> pg_backend_pid()');
	},
	'the page of the server has all processes');
is( join('|', map { $_->{verdict} } map { @{ $_->{findings} } } grep { $_->{pid} == $pid } @{ $server->{processes} }),
	$node->safe_psql('postgres', "SELECT string_agg(verdict, '|') FROM pg_leakhunt_suspects WHERE pid = $pid"),
	'the page of the server has the verdicts of pg_leakhunt_suspects');
$session->query_safe('SELECT count(*) FROM (SELECT repeat(i::text, 300) FROM generate_series(1, 40000) i ORDER BY 1) rows');
is_deeply(
	[ sort grep { !/pg_leakhunt_page/ } map { join '|', map { ($_ // '') =~ s/\n/ /gr } @$_{qw(query max_peak_bytes calls kept_bytes)} } @{ document_of(save('server', 'pg_leakhunt_page()'))->{statements} } ],
	# the statement that makes the page is counted after it
	rows("SELECT replace(query, chr(10), ' '), max_peak_bytes, calls, kept_bytes FROM pg_leakhunt_statements WHERE query NOT LIKE '%pg_leakhunt_page%'"),
	'the page of the server has the rows of pg_leakhunt_statements');
my @parts = @{ $server->{memory}{parts} };
my %sums;
$sums{ $_->{part_of} } += $_->{bytes} for grep { $_->{part_of} } @parts;
is_deeply([ grep { $sums{ $_->{number} } != $_->{bytes} } grep { defined $sums{ $_->{number} } } @parts ], [], 'and parts of the memory that add up');
is(join('|', map { "$_->{part} $_->{title}" } grep { $_->{part} =~ /^(?:used|shared_buffers|machine|shm_size)$/ } @parts),
	ask($node, q{SELECT string_agg(part || ' ' || ltrim(title), '|' ORDER BY number) FROM pg_leakhunt_memory() WHERE part IN ('used', 'shared_buffers', 'machine', 'shm_size')}),
	'those of pg_leakhunt_memory');

# Redacted: no name of a role, a database or an application, and no literal.
$node->safe_psql('postgres', 'CREATE ROLE quiet_role SUPERUSER LOGIN; CREATE DATABASE quiet_base');
my $quiet = $node->background_psql('quiet_base', extra_params => [ '-U', 'quiet_role' ]);
my $quiet_pid = session_pid($quiet);
$quiet->query_safe(q{SET application_name = 'quiet_application'});
$quiet->query_safe(q{DECLARE kept CURSOR WITH HOLD FOR /* quiet_comment */ SELECT repeat('quiet_literal', 100) || $tag$quiet_dollars$tag$ AS visible_column, 47110815 AS number FROM generate_series(1, 2000)});
my $quiet_dump = $node->safe_psql('postgres', "SELECT pg_leakhunt_dump($quiet_pid, true)");

# What a function of pg_leakhunt says, as one text.
sub said_by
{
	my ($call) = @_;
	my $asked = $call =~ /^explain/ ? "string_agg(explanation, '') FROM pg_leakhunt_$call" :
	  $call =~ /^pprof/ ? "encode(pg_leakhunt_$call, 'escape')" : "pg_leakhunt_$call";

	return $node->safe_psql('postgres', "SELECT $asked");
}

# Where something stands in a text that may be long, with what is around it.
sub place_of
{
	my ($pattern, $text) = @_;

	return $text =~ /.{0,60}$pattern.{0,20}/ ? $& : '';
}

# A call that has literals or names that match, and none when it is redacted, where % is.
sub hides
{
	my ($call, $hidden, $what) = @_;
	my $name = $call =~ s/%//r;
	my $with = $call =~ s/(\(?)%/$1 eq '(' ? '(redact => true' : ', redact => true'/er;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	# a count that takes long on a busy machine has no examples of contexts; a later one has
	wait_until(sub { place_of($hidden, said_by($name)) ne '' }, "$name has $what");
	is(place_of($hidden, said_by($with)), '', "$with has none");
}

for my $call (
	"page(%)", "page('$quiet_dump'%)", 'page(%)', "explain($quiet_pid%)", "explain($quiet_pid, 'json'%)", 'explain(format => $$json$$%)',
	"flamegraph($quiet_pid, query => true%)", "folded($quiet_pid, query => true%)", q{folded('all', query => true%)},
	"heap($quiet_pid%)", "heap('$quiet_dump'%)",
	"pprof($quiet_pid, labels => '{memory_context,database,user,application}'%)")
{
	hides($call, qr/quiet_(role|base|application|literal|comment|dollars)|\b47110815\b/, 'names or literals');
}
like($node->safe_psql('postgres', "SELECT explanation FROM pg_leakhunt_explain($quiet_pid, redact => true)"), qr/user A, database A, application A/, 'names are letters');
like($node->safe_psql('postgres', "SELECT pg_leakhunt_folded($quiet_pid, query => true, redact => true)"), qr/visible_column, \? AS number/, 'a statement has no literals, and its names still');
unlike($node->safe_psql('postgres', "SELECT pg_leakhunt_page($quiet_pid, redact => true) IS NULL, query FROM pg_leakhunt_report($quiet_pid)"), qr/visible_column, \?/, 'a view beside it is not redacted');
$quiet->quit;

# The statement that ran while malloc grew, and what contexts are of.  Of statements in
# contexts no literals are kept, but their comments.
define_corner_cases($node);
my $growing = $node->background_psql('postgres');
my $growing_pid = session_pid($growing);
$growing->query_safe('SET pg_leakhunt.sample_interval = 1024');
$growing->query_safe(join '', map { "PREPARE visible_$_ AS SELECT /* hushed_comment */ c.relname FROM pg_class c WHERE c.relname = 'hushed_literal$_' AND c.reltuples > 99123457;\n" } 1 .. 300);
$growing->query_until(
	qr/begun/, q{\echo begun
	DO $visible_code$ BEGIN
		PERFORM 'hushed_running', 99123457;
		PERFORM pg_sleep(1.2), count(DISTINCT i::text) FROM generate_series(1, 30000) i;
		PERFORM leak_malloc(1000, 200000);
		FOR round IN 1 .. 60000 LOOP
			PERFORM pg_sleep(0.1), count(DISTINCT i::text) FROM generate_series(1, 3000) i;
		END LOOP;
	END $visible_code$;
});
SKIP:
{
	skip 'malloc tells nothing here', 1 unless malloc_tells($growing_pid);
	wait_until(sub { said_by("explain($growing_pid)") =~ /While one statement ran, memory from malloc grew/ }, 'malloc is suspect, and the statement that ran then is known');
	for my $call ("explain($growing_pid%)", "explain($growing_pid, 'json'%)", "explain(format => 'json'%)", "page($growing_pid%)", 'page(%)')
	{
		hides($call, qr/hushed_running/, 'a literal of the statement that ran while malloc grew');
	}
	like(said_by("explain($growing_pid, redact => true)"), qr/Verdict: malloc .*DO \?/s, 'the statement is told, without what is in it');
}
wait_until(sub { said_by("page($growing_pid)") =~ /contexts \(\d+ kB\) such as PREPARE visible_/ }, 'contexts are told by their statements');
my $growing_dump = $node->safe_psql('postgres', "SELECT pg_leakhunt_dump($growing_pid, true)");
for my $call ("explain($growing_pid%)", "explain($growing_pid, 'json'%)", "page($growing_pid%)", "page('$growing_dump'%)")
{
	hides($call, qr/hushed_comment/, 'what contexts are of, with a comment');
}
for my $call ("explain($growing_pid%)", "page($growing_pid%)", "page('$growing_dump'%)", "heap($growing_pid%)", "heap('$growing_dump'%)", "folded('$growing_dump', query => true%)")
{
	is(place_of(qr/hushed_|99123457/, said_by($call =~ s/%/, redact => true/r)), '', "$call, redacted, has no literal of this session");
}
kill 'TERM', $growing_pid;

# What is not there.
for my $wrong ([ '99999999', qr/WARNING:  PID 99999999 is not a PostgreSQL server process/ ], [ "'none.profile'", qr/ERROR:  could not open/ ], [ 'NULL::int', qr/ERROR:  pid must not be null/ ])
{
	my (undef, $stdout, $stderr) = $node->psql('postgres', "SELECT pg_leakhunt_page($wrong->[0])");

	like($stderr, $wrong->[1], "of $wrong->[0] there is no page, which is said");
	is($stdout, '', 'and it is empty');
}

# A session that has allocated next to nothing has no profile, and a page of words.
set_and_reload($node, 'pg_leakhunt.sample_interval', '512kB');
my $small = $node->background_psql('postgres');
set_and_reload($node, 'pg_leakhunt.sample_interval', '64kB');
my $small_pid = session_pid($small);
my $small_path = save('small', "pg_leakhunt_page($small_pid, redact => true)");
my ($said_on_page, $said) = map { s/idle for \d+ s//r } document_of($small_path)->{explanation}{sentences}[0],
  $node->safe_psql('postgres', "SELECT split_part(explanation, E'\\n', 1) FROM pg_leakhunt_explain($small_pid, redact => true)");
is($said_on_page, $said, 'of a small session the page has what pg_leakhunt_explain says');

# A function that calls itself, and a statement that runs.
$node->safe_psql('postgres', 'CREATE FUNCTION again(n int) RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM leak_top(1000, 600); IF n > 0 THEN PERFORM again(n - 1); END IF; END $$');
my $recursion = $node->background_psql('postgres');
my $recursion_pid = session_pid($recursion);
$recursion->query_safe('SELECT again(20)') for 1 .. 12;
my $recursion_path = save('recursion', "pg_leakhunt_page($recursion_pid)");
$recursion->quit;

# Large and odd pages.
write_dump(
	"$dumps/1.1.manual.profile",
	sites => [ map { { stack => [ map { 4096 * $_ + 16 } reverse($_ % 7, 10 .. 30, 1000 + $_) ], bytes => 100 + $_, context => "c $_" } } 1 .. 20000 ]);
my $large = save('large', "pg_leakhunt_page('1.1.manual.profile')");
cmp_ok(-s $large, '<=', 2_000_000, 'a page of 20,000 call sites has at most 2 MB');
$page = document_of($large);
cmp_ok($page->{sites_left_out}, '>', 1000, 'a large page leaves call sites out');
my $sum = 0;
$sum += $_->[4] for @{ $page->{sites} };
is($sum, $page->{totals}{live_bytes}, 'no byte is left out of a large page');
write_dump("$dumps/1.2.manual.profile", sites => []);
my $empty = save('empty', "pg_leakhunt_page('1.2.manual.profile')");

# Hostile names, in all places.
my $rtl = "\x{202e}\x{200f}gnp.elif";
utf8::encode(my $rtl_bytes = $rtl);
write_dump(
	"$dumps/1.3.manual.profile",
	application => "$rtl_bytes</script>\"'", database => "\xff\xfe<script>document.title=1</script>", role => "<img src=x onerror='document.title=1'>",
	modules => [ "/$break/postgres", "/$rtl_bytes.so", '/' . 'm' x 65536 . $break ],
	sites => [
		{ stack => [ frame(1, 16), frame(1, 17), frame(2, 32) ], context => $break, statement => "SELECT '$break'", bytes => 5000 },
		{ stack => [ frame(1, 18), frame(2, 32) ], context => $rtl_bytes, statement => $rtl_bytes, bytes => 4000 },
		{ stack => [ frame(1, 19), frame(2, 32) ], context => "\xff\xfe<b>", statement => "SELECT '\xff\xfe</script>'", bytes => 3000 },
		{ stack => [ frame(3, 16), frame(3, 48) ], context => 'c' x 65536 . $break, statement => 'SELECT ' . 's' x 65536 . $break, bytes => 2000 } ],
	names => [
		[ frame(1, 16), $break, $break, 1 ], [ frame(1, 17), $rtl_bytes, "</script>.c", 2 ],
		[ frame(1, 18), 'x' x 65536, 'y' x 65536, 3 ], [ frame(1, 19), "\xff\xfe\x80", "\xc3", 4 ],
		[ frame(2, 32), "main\n\t\"'", 'm', 5 ] ]);
my $hostile = save('hostile', "pg_leakhunt_page('1.3.manual.profile')");
cmp_ok(-s $hostile, '<', 400_000, 'a name of 64 kB makes no large page');
unlike(slurp_file($hostile), qr/[^\x00-\x7f]/, 'a page is ASCII');
like(slurp_file($hostile), qr/\\u003cscript\\u003edocument\.title/, 'the name of a function is in the page as it is');

# and in the name of a file: as a path, as the server would give a dump no such name
my $odd_file = "$directory/<img src=x onerror='document.title=1'>\"&$rtl_bytes.profile";
write_bytes($odd_file, slurp_file("$dumps/1.3.manual.profile"));
my $hostile_file = save('hostile_file', "pg_leakhunt_page('" . $odd_file =~ s/'/''/gr . "')");
like(slurp_file($hostile_file), qr/<title>pg_leakhunt: [^<>"]*&#x3C;img [^<>"]*<\/title>/, 'the name of a file is text of the page');

# a session of a hostile role and database
my $script = q{<script>document.title=1</script>"'&};
my $quoted = $script =~ s/"/""/gr;
$node->safe_psql('postgres', qq{CREATE ROLE "$quoted" SUPERUSER LOGIN; CREATE DATABASE "$quoted"});
my ($leaker) = $node->safe_psql('postgres', q{SELECT probin FROM pg_proc WHERE proname = 'leak_top'});
my $hostile_session = $node->background_psql('postgres', extra_params => [ '-U', $script, '-d', "dbname='" . $script =~ s/'/\\'/gr . "'" ]);
my $hostile_pid = session_pid($hostile_session);
$hostile_session->query_safe(qq{SET application_name = '</script>"<b>'; DECLARE kept CURSOR WITH HOLD FOR SELECT repeat('</script>', 100) FROM generate_series(1, 5000)});
# of a hostile function in a hostile schema, which leaves much, by a statement that takes much
$hostile_session->query_safe(qq{
	CREATE SCHEMA "$quoted";
	CREATE FUNCTION "$quoted"."$quoted"(int, int) RETURNS void LANGUAGE c AS '$leaker', 'leak_top';
	CREATE FUNCTION "$quoted"."<img src=x onerror=alert(1)>"() RETURNS void LANGUAGE plpgsql AS \$\$ BEGIN PERFORM "$quoted"."$quoted"(1000, 40000); END \$\$});
$hostile_session->query_safe(qq{SELECT "$quoted"."<img src=x onerror=alert(1)>"(), '</script>'});
my $hostile_names = save('hostile_names', "pg_leakhunt_page($hostile_pid)");
is( join('|', @{ document_of($hostile_names)->{explanation} }{qw(username database application_name)}),
	"$script|$script|</script>\"<b>", 'hostile names of a role, a database and an application are in the page as they are');
my $hostile_server = save('hostile_server', 'pg_leakhunt_page()');
my $hostile_document = document_of($hostile_server);
for my $part ([ 'the account of memory', [ map { $_->{title} } @{ $hostile_document->{memory}{parts} } ], 'application </script>"<b>' ],
	[ 'statements', [ map { $_->{query} } @{ $hostile_document->{statements} } ], "'</script>'" ],
	[ 'routines', [ map { $_->{routine} // '' } map { @{ $_->{findings} } } @{ $hostile_document->{processes} } ], '<img src=x onerror=alert(1)>' ])
{
	my ($what, $texts, $name) = @$part;

	ok((grep { index($_, $name) >= 0 } @$texts), "a hostile name is among $what") or diag(join "\n", @$texts);
}
my $hostile_graph = "$directory/hostile.svg";
open my $picture, '>', $hostile_graph or die $!;
print $picture $node->safe_psql('postgres', "SELECT pg_leakhunt_flamegraph($hostile_pid, query => true)");
close $picture or die $!;
$hostile_session->quit;

SKIP:
{
	skip 'no Chromium', 1 unless Browser::is_there();
	my $browser = Browser->start($directory, "$FindBin::RealBin/../perl/page_probe.js");

	for my $case ([ 'server', $server_path ], [ 'page', $path ], [ 'large', $large ], [ 'empty', $empty ], [ 'hostile names', $hostile_names ],
		[ 'hostile server', $hostile_server ], [ 'hostile file', $hostile_file ], [ 'hostile', $hostile ], [ 'recursion', $recursion_path ])
	{
		for my $width (360, 1280)
		{
			$browser->emulate($width < 500 ? $width : 0, $width < 500);
			$browser->resize(1280, 900);
			$browser->open($case->[1]);
			is_deeply([ $browser->console ], [], "$case->[0], $width px: nothing goes wrong in the console");
			ok(!$browser->result('isTooWide'), "$case->[0], $width px: nothing runs out of the window");
			like($browser->value('document.title'), qr/^pg_leakhunt: (client backend|PostgreSQL server)/, "$case->[0], $width px: no name runs as a script");
			is($browser->result('count', 'script'), 2, "$case->[0], $width px: no name is an element");
			is($browser->result('count', 'main > section'), $case->[0] =~ /server$/ ? 7 : 5, "$case->[0], $width px: all parts are there");
			is($browser->result('count', '#container tbody tr') > 20, $case->[0] =~ /server$/ ? 1 : '', "$case->[0], $width px: what the memory consists of is there for a server");
			is_deeply($browser->result('textsOverTheirBars'), [], "$case->[0], $width px: no statement runs over the edge of its bar");
			is_deeply($browser->result('faintParts'), [], "$case->[0], $width px: what stands in the graph can be read");
			$browser->screenshot("$directory/$case->[0]$width.png");
			# the phone is dark, the desk is light, then the other way round
			for my $dark ($ENV{AXE} ? ($width < 500, $width >= 500) : ())
			{
				$browser->emulate($width < 500 ? $width : 0, $dark);
				is_deeply([ $browser->faults($ENV{AXE}) ], [], "$case->[0], $width px, " . ($dark ? 'dark' : 'light') . ': axe finds nothing');
			}
		}
	}
	$browser->emulate(0, 0);
	$browser->open($hostile_graph);
	unlike($browser->value('document.documentElement.textContent'), qr/^1$/, 'a flame graph of hostile names is shown');
	is($browser->value('document.querySelectorAll("script").length + "|" + document.querySelectorAll("img, b").length + "|" + document.title'), '1|0|' . $browser->value('document.querySelector("title").textContent'),
		'no name in it is an element, and none runs');
	is_deeply([ $browser->console ], [], 'and nothing goes wrong in the console');
	$browser->open($hostile);
	is($browser->value("Math.max(...[...document.querySelectorAll('tbody th, tbody td')].map(cell => cell.textContent.length))"), 400, 'a name of 64 kB makes no tall row');
	like($browser->value('document.body.textContent'), qr/<202E><200F>gnp\.elif/, 'what turns the order of letters is shown as a code');

	$browser->resize(1280, 900);

	# of a small session there are words, and no more; redacted, it is said what is left in
	$browser->open($small_path);
	is($browser->result('count', 'main > section'), 1, 'the page of a small session has one part');
	like($browser->result('textOf', '#words'), qr/^What pg_leakhunt says.*This process has no profile.*/s, 'which says why');
	like($browser->result('textOf', '.redacted'), qr/Names of schemas, .*functions.* are left in\./, 'a redacted page says which names are left in');
	is_deeply([ $browser->console ], [], 'a small session: nothing goes wrong in the console');

	# a function that calls itself is one frame
	$browser->open("$recursion_path#by=routine&as=tree");
	is($browser->value("[...document.querySelectorAll('#tree tbody tr')].filter(row => row.textContent.includes('again(integer)')).length"), 1, 'recursion in PL/pgSQL is folded');
	like($browser->result('textOf', '#words'), qr/allocated in again\(integer\) line 1, called by itself\./, 'and told as such');

	# all that can be chosen, of hostile names, and addresses that make no sense
	for my $address (
		'#as=tree&by=context', '#as=tree&by=statement&up=1', '#by=routine&show=total', '#site=0', '#site=3&find=%3C/script%3E', '#find=%28%28%5B&site=-1', '#time=9-1&show=x&by=%3Cb%3E&site=1e9',
		'#hide=%5B%22%3Cscript%3Ealert(1)%3C/script%3E%22,1%5D', '#hide=%7B', '#%ff%fe')
	{
		$browser->open("$hostile?" . length($address) . $address);
		is_deeply([ $browser->console ], [], "hostile names, $address: nothing goes wrong in the console");
		is($browser->result('count', 'script') . $browser->value('document.title') =~ s/: .*//r, '2pg_leakhunt', "hostile names, $address: no name is an element, and none runs");
	}

	# a page as it would be of another document
	my $open_with = sub {
		my ($page, $document) = @_;
		my $html = slurp_file($page);
		my $json = JSON::PP->new->ascii->encode($document) =~ s/</\\u003c/gr;
		my $file = "$directory/changed.html";

		$html =~ s{(id="document">).*?(</script>)}{$1$json$2}s;
		open my $out, '>', $file or die $!;
		print $out $html;
		close $out or die $!;
		$browser->open($file);
	};

	# memory of the executor has the colour that its functions have; growth ends where a session
	# came to rest, not at a later count
	my $drawn = document_of($path);
	my @at = @{ $drawn->{history}{at} };
	$drawn->{families} = [ map { my ($name, $part, $bytes) = @$_; { name => $name, part => $part, bytes => [ map { $bytes } @at ] } } [ 'anything', 0, 9e6 ], [ 'the executor', 1, 8e6 ], [ 'sorts', 1, 7e6 ], [ 'caches', 3, 6e6 ] ];
	$open_with->($path, $drawn);
	is($browser->value("[...document.querySelectorAll('.layer')].slice(0, 4).map(layer => layer.dataset.fill).join(' ')"), 'family-1 family-2 family-5 family-3', 'parts of the server have their colours in the chart, too');
	is($browser->value("(name => getComputedStyle(document.documentElement).getPropertyValue(name))('--family-2') !== ''"), JSON::PP::true, 'which there are');
	$drawn->{history}{$_} = [ (@{ $drawn->{history}{$_} })[ 0, -1 ] ] for keys %{ $drawn->{history} };
	$drawn->{families} = [];
	$drawn->{followed_sites} = [];
	@{ $drawn->{history} }{qw(at own)} = ([ 0, 60_000_000 ], [ 1e6, 9e6 ]);
	$drawn->{at} = $drawn->{origin} + 60_000_000;
	$drawn->{explanation}{course}{rests_since} = $drawn->{origin} + 2_000_000;
	$open_with->($path, $drawn);
	my @line = map { [ split /,/ ] } split / /, $browser->value("document.querySelector('.own').getAttribute('points')");
	is_deeply([ scalar @line, $line[1][1] == $line[2][1], $line[1][0] - $line[0][0] < 0.1 * ($line[2][0] - $line[0][0]) ], [ 3, 1, 1 ], 'a session at rest has not grown until it was counted');

	unlike($browser->result('textOf', '.legend'), qr/as of/, 'figures of one moment are told as such');
	$drawn->{at} += 30_000_000;
	$drawn->{alive} = JSON::PP::true;
	$drawn->{totals}{own_bytes} = 9e6;
	$open_with->($path, $drawn);
	like($browser->result('textOf', '.legend'), qr/^own memory 8789.{1,2}kB now.*All but own memory as of \S+ [\d:]+.*\.$/s, 'and those of two moments with theirs');

	# what the answers make of other findings than that of the process above
	my $answers_to = sub {
		my (%finding) = @_;
		my $document = document_of($path);
		my $change = delete $finding{change};
		my $told = $document->{explanation};
		my @names = qw(site site_words routine context_name family query loaded libraries);

		$told->{doubt} = delete $finding{doubt};
		$document->{sites}[0][10] = delete $finding{peak} // $document->{sites}[0][10];
		$told->{findings} = %finding || $change ? [ { %{ $told->{findings}[0] }, (map { $_ => undef } @names), %finding } ] : [];
		@$told{qw(sentences sentence_ids)} = (['Words.'], [ @{ $told->{findings} } ? 'verdict' : $told->{doubt} ? 'no_verdict' : 'hidden' ]);
		$change->($document) if $change;
		$open_with->($path, $document);
		return $browser->result('textOf', '.answers');
	};
	like($answers_to->(answer => 'A cache.', family => 'other caches', context_name => 'CacheMemoryContext'),
		qr/^Leak or cache\?A cache\.Who\?other cachesCacheMemoryContextSince when\?/, 'the answer is that of the finding, and contexts have their kind');
	like($answers_to->(next_summary => 'See what PL/Perl keeps.'), qr/Who\?No call site is known\. See what PL\/Perl keeps\.Since when\?/,
		'where no call site is known, it is said what to look at');
	like($answers_to->(next_summary => 'See it.', loaded => 'It has loaded PL/Perl.'), qr/Who\?No call site is known\. It has loaded PL\/Perl\.Since when\?/,
		'or the language that it has loaded');
	like($answers_to->(query => 'SELECT load()', libraries => 'a.so, b.so'), qr/Who\?SELECT load\(\)Loaded by this session: a\.so, b\.so\.Since when/,
		'a statement that took memory from malloc has its libraries beside it');
	like($answers_to->(query => 'SELECT load()', loaded => 'It has loaded PL/Perl.', libraries => 'a.so'), qr/Who\?SELECT load\(\)It has loaded PL\/Perl\.Since when/,
		'or the language that it has loaded');
	like($answers_to->(site => 'postgres+0x12', site_words => 'postgres+0x12, called by ExecHash.c', context_name => 'HashContext', query => 'SELECT 1'),
		qr/Who\?postgres\+0x12, called by ExecHash\.c in HashContextSELECT 1Since/, 'a call site without a name has its caller');
	my ($site) = grep { /^leaking_top / } @frames;
	my $of_age = sub {
		my ($part) = @_;

		return $answers_to->(verdict => 'query', site => $site, context_name => 'TopMemoryContext', change => sub {
			my ($document) = @_;
			my $now = $document->{at} - $document->{origin};

			@{ $document->{sites}[0] }[ 14, 16 ] = (0, [ map { int } $now - $part * $now, $now, 1000, 0, 1000 ]);
		});
	};
	like($of_age->(0.01), qr/Since when\?Since [^,]*, the oldest of what it holds, /, 'what a statement holds is as old as the oldest of it');
	like($of_age->(0.5), qr/Since when\?Since [^,]*, when own memory began to rise, /, 'or began when own memory rose');
	like($answers_to->(verdict => 'malloc', change => sub {
			my ($history) = map { $_->{history} } @_;

			$history->{contexts} = [ map { 1000 } @{ $history->{at} } ];
			$history->{malloc} = [ map { 1000 + 2**24 * $_ } 0 .. $#{ $history->{at} } ];
		}), qr/Since when\?Since [^:]*[\d:]* UTC: it rose from 0.bytes at .*Own memory rose /, 'memory of malloc has come since it rose');
	like($answers_to->(doubt => { is_undecided => JSON::PP::true, words => 'It has not grown for 3 s. More is said.', summary => 'It has not grown for 3 s.', loaded => undef }),
		qr/^Leak or cache\?Not known yet\. It has not grown for 3 s\.Since/, 'what is not known yet is no answer, and said in one sentence');
	like($answers_to->(doubt => { is_undecided => JSON::PP::false, words => 'Nothing keeps growing.', summary => 'Nothing keeps growing.', loaded => undef }, peak => 99_000_000),
		qr/^Leak or cache\?No finding\. Nothing keeps growing\.Who\?Held most at the peak, .*:leaking_top .*Since/, 'without a finding it is told what held most');
	like($answers_to->(doubt => undef), qr/^Leak or cache\?No finding\. Findings are hidden by pg_leakhunt_suppressions\./, 'a finding that is hidden is said to be');
	$browser->open($empty);
	is($browser->result('textOf', '.answers'), 'Leak or cache?No finding. It had allocated too little to tell.Since when?Not known: there is no history.',
		'of a dump that has nothing the answers say so');
	is($browser->value("document.querySelector('#sites-table .scroll').hidden && document.querySelector('#sites-table .tools').hidden"), JSON::PP::true, 'a table without rows is not there');
	is($browser->result('textOf', '#sites-table > .empty'), 'There is no call site.', 'and that is said');

	# what next to nothing is left of is shown and sorted by its peak
	my $freed = document_of($path);
	$freed->{totals}{live_bytes} = 0;
	$open_with->($path, $freed);
	like($browser->result('textOf', '#sites-table th[aria-sort]'), qr/^Peak/, 'call sites of what was freed are sorted by their peak');

	# growth of seconds is no growth per hour
	my $grown = document_of($server_path);
	my $growth_of = sub {
		$grown->{processes}[0]{findings} = [ map { { verdict => 'query', cause => '(the last statement)', about => 'the last statement', bytes => 5e8, error_bytes => 0, bytes_per_hour => $_->[0], rate_us => $_->[1] } } @_ ];
		$open_with->($server_path, $grown);
		return $browser->result('cellOf', '#causes-table', 'the last', 'Growth');
	};
	is($growth_of->([ 237 * 2**30, 1_000_000 ]), '+67 MB in 1.0 s', 'growth of a second is told as it is');
	is($growth_of->([ 36 * 2**20, 299e6 ]), '+3062 kB in 5 min', 'so is that of less than five minutes');
	is($growth_of->([ 36 * 2**20, 300e6 ]), '+36 MB per hour', 'growth of five minutes is told per hour');
	is($growth_of->([ 36 * 2**20, 7200e6 ], [ 36 * 2**30, 100e6 ]), '+1096 MB in 2 h', 'growth of several is told per hour only where that is known of all');
	is($growth_of->([ undef, undef ]), '', 'what does not grow has none');
	like($browser->result('textOf', '.kinds'), qr/^query the running statement or transaction holds far more than/, 'it is said what a verdict means');
	$grown->{processes}[0]{findings} = [ map { { verdict => 'leak', cause => 'at f', about => 'at f', bytes => 1e8, error_bytes => 0, bytes_per_hour => undef, rate_us => undef } } 1 ];
	$grown->{processes}[1]{findings} = [ map { { %$_, bytes => 9e8 } } @{ $grown->{processes}[0]{findings} } ];
	$grown->{processes}[1]{crash} = 'crashed';
	$open_with->($server_path, $grown);
	is_deeply([ grep { /^1/ } @{ $browser->result('cellsOf', '#causes-table', 'at f', 'Processes') } ], [ '1', '1 crashed' ], 'what crashed processes held stands behind what is held');
	push @{ $grown->{sentences} }, '5 more causes are in pg_leakhunt_suspects.';
	push @{ $grown->{sentence_ids} }, 'server_more';
	$open_with->($server_path, $grown);
	unlike($browser->result('textOf', '#words'), qr/more causes/, 'a table of all causes is not told to have others');
	unlike($browser->result('textOf', '#page'), qr/per hour/, 'nothing is told per hour then');
	$browser->open($server_path);
	like($browser->result('cellOf', '#processes-table', "$pid client backend", 'Sampled'), qr/ \(\+\/- /, 'a process of the server has its error');
	$browser->value("[...document.querySelectorAll('#processes-table tbody button')].find(button => button.textContent.startsWith('$pid ')).click()");
	like($browser->result('textOf', '#detail'), qr/SELECT pg_leakhunt_page\($pid\)/, 'a process that is chosen tells how to see more');
	is($browser->value("getComputedStyle(document.querySelector('#detail .card h3')).display"), 'block', 'the heading of its verdict is not torn apart');
	like($browser->result('textOf', '#words .card'), qr/^Verdict: .* leaking_top/, 'the first card of the server names its causes');
	is($browser->value('location.hash'), "#pid=$pid", 'a process that is chosen is in the address');

	$browser->open($path);
	my ($verdict) = map { $_->{verdict} } @{ document_of($path)->{explanation}{findings} };
	is($browser->result('textOf', '.card .verdict'), $verdict, 'the verdict stands on the page');
	like($browser->result('textOf', '.answers'), qr/^Leak or cache\?(A leak|Not sure yet): .*Who\?leaking_top .* in TopMemoryContext.*Since when\?Since \d{4}-\d\d-\d\d .*Own memory rose from .* to /,
		'leak or cache, who, since when is answered at the top');
	cmp_ok($browser->result('coloursOfGraph'), '>', 2, 'the flame graph has colours');
	my $empty_rows = grep { $_->[4] == 0 } @{ document_of($path)->{sites} };
	my $all_rows = @{ document_of($path)->{sites} };
	my $rows_said = sub { return $browser->result('textOf', '#sites-table .said') =~ s/ rows?$//r };
	is($rows_said->(), $all_rows - $empty_rows, 'call sites with nothing are not among the rows');
	if ($empty_rows)
	{
		$browser->value("[...document.querySelectorAll('#sites-table > button')].find(button => button.textContent.endsWith('with 0 bytes')).click()");
		is($rows_said->(), $all_rows, 'until they are asked for');
	}
	my $live_text = $node->safe_psql('postgres', "SELECT pg_size_pretty(live_bytes) FROM pg_leakhunt_report('$file') WHERE site LIKE 'leaking_top%'");
	like($browser->result('cellOf', '#sites-table', 'leaking_top', 'Live'), qr/^\Q$live_text\E \(/, 'the table has the largest site, with its error');

	# dark and light: as the system has it, as chosen, and on paper
	my $is_dark = sub { return $browser->value("getComputedStyle(document.body).backgroundColor === 'rgb(21, 23, 26)'") ? 'dark' : 'light' };
	my @themes = ($is_dark->());
	$browser->emulate(0, 1);
	push @themes, $is_dark->();
	$browser->click("document.getElementById('theme')");
	push @themes, $is_dark->();
	$browser->emulate(0, 0);
	$browser->click("document.getElementById('theme')");
	push @themes, $is_dark->();
	$browser->value("dispatchEvent(new Event('beforeprint'))");
	push @themes, $is_dark->();
	$browser->value("dispatchEvent(new Event('afterprint'))");
	push @themes, $is_dark->();
	$browser->click("document.getElementById('theme')");
	push @themes, $is_dark->();
	is("@themes", 'light dark light dark light dark light', 'light and dark, as the system has it, as chosen, and light on paper');
	is_deeply([ $browser->console ], [], 'nothing goes wrong in the console then');

	# who holds it: the tree opens, and each level adds up
	$browser->open($proven_path);
	like($browser->result('textOf', '#holders'), qr/nothing points to .* in chunks/, 'the page says what is lost');
	$browser->value("document.querySelector('#held tr.lost').click()");
	is($browser->value("document.querySelector('#held tr.lost').getAttribute('aria-expanded')"), 'true', 'what is lost opens to its contexts');
	is($browser->value(q{(rows => rows[0].node.bytes - rows.filter(row => row.node.depth === 1).reduce((sum, row) => sum + row.node.bytes, 0))([...document.querySelectorAll('#held tbody tr')])}),
		0, 'holders and what is lost add up to all chunks');
	is_deeply([ $browser->console ], [], 'nothing goes wrong in the console with a proof');
	$browser->screenshot("$directory/proven.png");
	$browser->open($path);

	# the brush: what is selected is the difference of two points of the history
	my $points = scalar @{ $history->{at} };
	$browser->drag("document.querySelector('.chart')", 0.4, 0.8);
	my ($from, $to) = $browser->value('location.hash') =~ /time=(\d+)-(\d+)/;
	ok(defined $to && $from > 0 && $to < $points - 1, 'dragging over the chart selects a part of it');
	my $expected = $node->safe_psql(
		'postgres', qq{
		WITH points AS (SELECT row_number() OVER (ORDER BY at) - 1 AS number, at FROM pg_leakhunt_history('$file') WHERE name = 'live_bytes'),
			held AS (SELECT number, bytes FROM pg_leakhunt_history('$file', by => 'site') JOIN points USING (at) WHERE name LIKE 'leaking_top%')
		SELECT '+' || pg_size_pretty((SELECT bytes FROM held WHERE number = $to) - (SELECT bytes FROM held WHERE number = $from))});
	is($browser->result('cellOf', '#sites-table', 'leaking_top', 'Selected time'), $expected, 'the brush is the difference of pg_leakhunt_history');
	$browser->screenshot("$directory/brush.png");
	$browser->click("buttonOf('Whole time')");
	is_deeply([ grep { $_ eq 'Selected time' } @{ $browser->result('columnsOf', '#sites-table') } ], [], 'Whole time ends the selection');

	# search: nested matches count once
	$browser->click("document.getElementById('search')");
	$browser->type('leak|hoard|main');
	my $matched = $browser->result('textOf', '#matched');
	like($matched, qr/^\d+ match(es)?: .*, 100%$/, 'a search counts nested matches once');
	$browser->type($escape);
	is($browser->result('textOf', '#matched'), '', 'Esc ends the search');

	# the tree, by keys alone
	$browser->type('t');
	is($browser->value("document.getElementById('tree').hidden"), JSON::PP::false, 'T shows the tree');
	ok($browser->result('treeRowOf', 'hoard(integer) line 1') || $browser->value("document.querySelectorAll('#tree tbody tr').length") > 2, 'the tree is open down to where it branches');
	$browser->type('t');

	# a function is taken out, and comes back
	$browser->value("document.querySelector('#graph canvas').focus()");
	$browser->type($down) for 1 .. 3;
	$browser->type('x');
	like($browser->value('location.hash'), qr/hide=/, 'X takes a function out');
	like($browser->value('document.body.textContent'), qr/Taken out: /, 'a line says what is taken out');
	$browser->type('r');
	unlike($browser->value('location.hash'), qr/hide=/, 'R brings all back');

	# another page, and a profile: the difference is that of pg_leakhunt_diff
	$session->query_safe('SELECT hoard(3000); SELECT leak_child(1000, 900)');
	my $newer = $node->safe_psql('postgres', "SELECT pg_leakhunt_dump($pid, true)");
	my $newer_path = save('newer', "pg_leakhunt_page('$newer')");
	my $profile = "$directory/older.pb";
	open my $out, '>:raw', $profile or die $!;
	print $out pack('H*', $node->safe_psql('postgres', "SELECT encode(pg_leakhunt_pprof('$file'), 'hex')"));
	close $out or die $!;
	my %differences = map { split /\|/ } @{ rows(qq{
		SELECT site, CASE WHEN growth_bytes > 0 THEN '+' ELSE '' END || pg_size_pretty(growth_bytes)
		FROM pg_leakhunt_diff('$file', '$newer') d
		WHERE growth_bytes <> 0 AND (SELECT count(*) FROM pg_leakhunt_diff('$file', '$newer') same WHERE same.site = d.site AND growth_bytes <> 0) = 1}) };
	cmp_ok(scalar(keys %differences), '>', 1, 'two call sites have changed at least');
	for my $case ([ $newer_path, $path, 'an older page' ], [ $path, $newer_path, 'a newer page' ], [ $newer_path, $profile, 'a profile' ])
	{
		my ($open, $other, $what) = @$case;

		$browser->open($open);
		$browser->choose_file('#other', $other);
		wait_until(sub { ($browser->result('textOf', '#sites') // '') =~ /Compared with/ }, "$what is compared");
		$browser->value("[...document.querySelectorAll('#sites-table thead button')].find(button => button.textContent === 'Difference').click()");
		for my $site (sort keys %differences)
		{
			my @cells = grep { $_ eq $differences{$site} } @{ $browser->result('cellsOf', '#sites-table', $site, 'Difference') };
			is("@cells", $differences{$site}, "$what: the difference of $site is that of pg_leakhunt_diff");
		}
		is_deeply([ $browser->console ], [], "$what: nothing goes wrong in the console");
		$browser->screenshot("$directory/compared.png");
	}
	$browser->choose_file('#other', "$dumps/$file");
	wait_until(sub { $browser->result('textOf', '#sites') =~ /cannot be compared\. This is a dump file/ }, 'a dump file is refused, and it is said what to do');
	$browser->open($path);

	# a chosen site, and the address of a view
	$browser->value("buttonOf(cellOf('#sites-table', 'leaking_top', 'Call site')).click()");
	like($browser->result('textOf', '#detail'), qr/leaking_top.*When it was allocated.*stack_id = -?\d+/s, 'a chosen site shows ages, stack and SELECT');
	my ($select) = $browser->result('textOf', '#detail') =~ /(SELECT \* FROM pg_leakhunt_report.*?;)/s;
	is($node->safe_psql('postgres', "SELECT count(*) FROM ($1) found") , 1, 'the SELECT finds the site') if $select =~ /(.*);/s;
	my $address = $browser->value('location.hash');
	$browser->open("$path?again$address");
	like($browser->result('textOf', '#detail'), qr/leaking_top/, 'the address shows the same again');
	is_deeply([ $browser->console ], [], 'nothing went wrong in the console');
	$browser->stop;
}
$session->quit;
$node->stop;
done_testing();
