# A dump shows what its process showed: each view and each picture of a process, column by
# column, is that of its dump; of a session that does nothing any more, and of one that is
# killed.  Needs several processes, and files.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Dumps;
use LeakHunt;
use Pprof;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server(
	'main', <<'CONF', extra => [ '--encoding=UTF8', '--locale=C' ]);
pg_leakhunt.enabled = off
pg_leakhunt.dump_min_bytes = 100kB
pg_leakhunt.keeper_interval = 200ms
restart_after_crash = on
compute_query_id = on
CONF
my $postgres = $node->config_data('--bindir') . '/postgres';
my $directory = $node->data_dir . '/pg_leakhunt';

# A session that has all kinds of sites, and does nothing any more; and its pid.
sub idle_session
{
	my $session = $node->background_psql('postgres');
	my $pid = session_pid($session);

	$session->query_safe("SELECT pg_leakhunt_start($pid, 1)");
	$session->query_safe($_)
	  for 'SELECT leak_top(64, 10000)', 'SELECT leak_cache(1000, 300)',
	  'SELECT leak_at_depth(30, 100, 10)', 'SELECT leak_top(0, 7)',
	  q{SELECT leak_named_context(E'a b\n"&<\u00e4>', 100) /* \u00e4 */},
	  'SELECT hold_chunk(3000000); SELECT release_chunk()';
	return ($session, $pid);
}

# Wait until a session does nothing any more, as it may be freeing what a statement needed,
# and let it stand still: even an idle one does something now and then.
sub hold_still
{
	my ($pid) = @_;
	my $held = '';

	wait_until(
		sub {
			my $before = $held;

			select(undef, undef, undef, 0.3);
			$held = ask($node, "SELECT live_bytes, samples_taken, peak_bytes FROM pg_leakhunt_processes JOIN pg_leakhunt_sampling USING (pid) WHERE pid = $pid");
			return $held eq $before && slurp_file("/proc/$pid/stat") =~ /^\d+ \(.*\) S /;
		},
		'a session does nothing any more');
	kill 'STOP', $pid;
	wait_until(sub { slurp_file("/proc/$pid/stat") =~ /^\d+ \(.*\) T / }, 'a session stands still');
}

# The rows of a query, in the database's order, as text.
sub rows
{
	my ($from) = @_;

	return ask($node, "SELECT r::text FROM $from r");
}

# What a picture shows: its frames, with their depth, and its legend.  They stand lower if
# the process has died, as a line of the title says so.
sub picture
{
	my ($arguments) = @_;
	my $svg = ask($node, "SELECT pg_leakhunt_flamegraph($arguments)");

	return join "\n", map { s/ y="\d+"//gr } grep { /class="frame"|^<rect/ } split /\n/, $svg;
}

# All that go tool pprof reads in a profile, but for its time and what it says of a death.
sub samples
{
	my ($arguments) = @_;
	my $hex = ask($node, "SELECT encode(pg_leakhunt_pprof($arguments), 'hex')");

	return raw_pprof(pack 'H*', $hex) =~ s/^(?:Time|Duration|Comment): .*\n//mgr;
}

# A text for jeprof, without what tells when it was written.
sub heap_text
{
	my ($arguments) = @_;

	return ask($node, "SELECT pg_leakhunt_heap($arguments)") =~ s/^# written .*|\n+\z//mgr;
}

# All that can be asked of a process and of a dump, by a name for each: whichever of both
# the first argument says.
sub everything
{
	my ($source) = @_;
	my %all = (
		'top' => rows("pg_leakhunt_top($source)"),
		'heap' => heap_text($source),
		'heap with names' => heap_text("$source, true"),
		'pprof with all labels' => samples("$source, labels => '{memory_context,backend_type,lifetime,query_id,pid,database,user,application}'"),
		'pprof without names' => samples("$source, symbolize => false"),
		'pprof, all types' => samples("$source, types => '{alloc,inuse,peak}'"));

	$all{"top by $_"} = rows("pg_leakhunt_top($source, '$_')") for 'line', 'module', 'context';
	for my $options ('', ', context => true', ', query => true', ', context => true, query => true', ', peak => true')
	{
		$all{"folded$options"} = ask($node, "SELECT pg_leakhunt_folded($source$options)");
		$all{"flame graph$options"} = picture("$source$options");
	}
	$all{'top of the peak'} = rows("pg_leakhunt_top($source, peak => true)");
	$all{'pprof of the peak'} = samples("$source, peak => true");
	return \%all;
}

# The rows of the report on a process.
sub report_of
{
	my ($pid) = @_;

	return rows("(SELECT * FROM pg_leakhunt_report($pid) s ORDER BY s::text)");
}

# What a dump must show; "what" says of which it is.
sub check_dump
{
	my ($what, $file, $report, $live) = @_;
	my $dump = everything("'$file'");

	is(rows("(SELECT * FROM pg_leakhunt_report('$file') d ORDER BY d::text)"), $report, "$what: read_dump is the report");
	for my $name (sort keys %$live)
	{
		cmp_ok(length $live->{$name}, '>', 100, "$what: $name of the process is not empty") if $name !~ /context'|module/;
		ok($dump->{$name} eq $live->{$name}, "$what: $name is that of the process")
		  or diag(first_difference($live->{$name}, $dump->{$name}));
	}
	ok( slurp_file(dump_text("$directory/$file")) =~ s/^# written .*|\n+\z//mgr eq $dump->{heap},
		"$what: the text beside the dump is the one of pg_leakhunt_heap");
	is( ask($node,
			"SELECT count(*) FILTER (WHERE growth_bytes <> 0 OR growth_count <> 0 OR older_bytes <> newer_bytes OR older_count <> newer_count), sum(newer_bytes) FROM pg_leakhunt_diff('$file', '$file')"
		),
		ask($node, "SELECT 0, sum(live_bytes) FROM pg_leakhunt_report('$file')"),
		"$what: a dump does not differ from itself");
	is( ask($node,
			"SELECT count(*) FROM pg_leakhunt_top('$file', base => '$file') WHERE flat_bytes <> 0 OR flat_count <> 0 OR cum_bytes <> 0 OR cum_count <> 0"),
		0,
		"$what: the top of a dump does not differ from itself");
}

# Where two texts begin to differ.
sub first_difference
{
	my @lines = map { [ split /\n/ ] } @_;

	for my $i (0 .. $#{ $lines[0] })
	{
		return "$lines[0][$i]\n" . ($lines[1][$i] // 'nothing')
		  if $lines[0][$i] ne ($lines[1][$i] // '');
	}
	return 'one is longer';
}

# Of a session that lives: without a baseline, and with one.
ask_in_one_session(
	$node,
	sub {
		my ($session, $pid) = idle_session();
		for my $what ('without a baseline', 'with a baseline')
		{
			my $with_baseline = $what =~ /^with a/;

			if ($with_baseline)
			{
				$session->query_safe("SELECT pg_leakhunt_baseline($pid); SELECT leak_top(64, 500)");
			}
			hold_still($pid);
			my $report = report_of($pid);
			my $live = everything($pid);
			my $process = ask($node, "SELECT pid, backend_type, username, database, live_bytes, live_count, peak_bytes FROM pg_leakhunt_processes JOIN pg_leakhunt_sampling USING (pid) WHERE pid = $pid");
			for my $symbolized ('false', 'true')
			{
				my $file = ask($node, "SELECT pg_leakhunt_dump($pid, $symbolized)");

				is(report_of($pid), $report, "$what: the process has not changed");
				# the text of a dump with names has these, too
				$live->{heap} = $live->{'heap with names'} if $symbolized eq 'true';
				check_dump($what . ($symbolized eq 'true' ? ', with names' : ''), $file, $report, $live);
				is( ask($node, "SELECT pid, backend_type, username, database, live_bytes, live_count, peak_bytes FROM pg_leakhunt_dumps WHERE file = '$file'"),
					$process,
					"$what: pg_leakhunt_dumps has the figures of the process");
				is( ask($node, "SELECT count(*) FILTER (WHERE growth_bytes = 32000 AND growth_count = 500), count(*) FILTER (WHERE growth_bytes IS NULL) = count(*) FROM pg_leakhunt_report('$file')"),
					$with_baseline ? '1|f' : '0|t',
					"$what: the dump has the growth, if there is a baseline");
			}
			kill 'CONT', $pid;
		}
		$session->quit;
	});

# Of one that is killed: what it showed just before is what its dump shows.
for my $with_baseline (0, 1)
{
	my ($session, $pid) = idle_session();
	my $what = 'killed, ' . ($with_baseline ? 'with a baseline' : 'without a baseline');
	my ($report, $live);

	if ($with_baseline)
	{
		$session->query_safe("SELECT pg_leakhunt_baseline($pid); SELECT leak_top(64, 500)");
	}
	hold_still($pid);
	ask_in_one_session($node, sub { $report = report_of($pid); $live = everything($pid) });
	kill 'KILL', $pid;
	$session->{run}->finish;
	wait_for_server($node, $pid);
	wait_until(sub { 1 == dump_files($node, $pid) }, 'a killed session leaves a dump');
	my ($file) = map { s{.*/}{}r } dump_files($node, $pid);

	is($file, "$pid.1.crash.profile", "$what: the dump has crash in its name");
	# The keeper writes a dump at once, and again when it has looked up names of functions.
	$live->{heap} = $live->{'heap with names'};
	wait_until(sub { names_of(slurp_file("$directory/$file")) && slurp_file(dump_text("$directory/$file")) =~ /^--- symbol/ },
		"$what: the dump has names of functions with it");
	ask_in_one_session($node, sub { check_dump($what, $file, $report, $live) });
	is( ask($node, "SELECT reason, death FROM pg_leakhunt_dumps WHERE file = '$file'"),
		'crash|terminated by signal 9: Killed', "$what: the dump tells how the process died");
	is(ask($node, "SELECT count(*) FILTER (WHERE growth_bytes = 32000) FROM pg_leakhunt_report('$file')"),
		$with_baseline, "$what: the dump has the growth, if there is a baseline");
}

# Texts for jeprof and pprof are compared across a restart: addresses are the same in each.
my @texts;
for my $count (10_000, 25_000)
{
	my $session = $node->background_psql('postgres');
	my $pid = session_pid($session);

	$session->query_safe("SELECT pg_leakhunt_start($pid, 1)");
	$session->query_safe("SELECT leak_top(64, $count)");
	push @texts, dump_text("$directory/" . ask($node, "SELECT pg_leakhunt_dump($pid)"));
	$session->quit;
	$node->restart;
}
like(run_tool('jeprof', '--text', '--show_bytes', $postgres, $texts[1]),
	qr/^\s*1600000 .* leaking_top$/m, 'jeprof reads a text');
like(run_tool('jeprof', '--text', '--show_bytes', '--base', $texts[0], $postgres, $texts[1]),
	qr/^\s*960000 .* leaking_top$/m, 'jeprof compares texts across a restart');
like(run_tool('go', 'tool', 'pprof', '-top', '-unit=B', '-sample_index=inuse_space', $postgres, $texts[1]),
	qr/^\s*1600000B .* leaking_top$/m, 'pprof reads a text');
like(run_tool('go', 'tool', 'pprof', '-top', '-unit=B', '-diff_base', $texts[0], $postgres, $texts[1]),
	qr/^\s*960000B .* leaking_top$/m, 'pprof compares texts across a restart');
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|signal (6|11)/, 'no process has crashed by itself');
done_testing();
