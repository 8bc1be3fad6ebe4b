# Profiles for pprof, as programs that collect and store profiles take them: every
# variant is read by go tool pprof and held against the rules of Pyroscope and Parca
# (test/perl/Pprof.pm).  Needs several sessions, roles and files.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Dumps;
use LeakHunt;
use Pprof;
use PostgreSQL::Test::Utils;
use Test::More;

needs_programs('go');
my $node = new_server(
	'main', <<'CONF', extra => [ '--encoding=SQL_ASCII', '--locale=C' ]);
pg_leakhunt.enabled = off
compute_query_id = on
CONF
ask($node, 'CREATE ROLE clerk LOGIN; GRANT EXECUTE ON FUNCTION pg_leakhunt_start(int, bigint, text, interval), pg_leakhunt_stop TO clerk');

my $postgres = $node->config_data('--bindir') . '/postgres';
my ($build_id) = run_tool('readelf', '-n', $postgres) =~ /Build ID: ([0-9a-f]+)/;
my $directory = PostgreSQL::Test::Utils::tempdir;

my %types = (
	alloc => 'alloc_objects/count alloc_space/bytes',
	inuse => 'inuse_objects/count inuse_space/bytes',
	peak => 'peak_space/bytes');
$types{default} = "$types{alloc} $types{inuse}";

# The bytes of a profile, by a call of a function; of another database if it is named.
sub fetch
{
	my ($call, $database) = @_;

	return pack('H*', $node->safe_psql($database // 'postgres', "SELECT encode($call, 'hex')"));
}

# What go tool pprof says of a profile that is in a file.
sub go_pprof
{
	my ($bytes, @options) = @_;
	my $path = "$directory/profile.pb";

	open my $out, '>:raw', $path or die $!;
	print $out $bytes;
	close $out or die $!;
	return run_tool('go', 'tool', 'pprof', @options, $path);
}

# A variant, which must be right by all rules, and readable: the profile, and its bytes.
# The types are the default's, unless they are given.
sub variant
{
	my ($name, $call, %rules) = @_;
	my $bytes = fetch($call, delete $rules{database});
	my $profile = read_pprof(raw_pprof($bytes), length $bytes);
	my @faults = pprof_faults($profile, build_id => $build_id, types => $types{default}, %rules);

	is(join("\n", @faults), '', "$name: the profile breaks no rule");
	is($profile->{mappings}[0]{file}, $postgres, "$name: the first mapping is the server's file");
	return ($profile, $bytes);
}

# The checker itself: each of these changes to what go tool pprof reads is a fault, and
# is told.
sub check_checker
{
	my ($profile) = @_;
	my %changes = (
		'a text is not UTF-8' => sub { s/ leaking_top / leaking\xe4top / },
		'a name is too long' => sub { s/ leaking_top /' x' . 'x' x 65_536 . ' '/e },
		'there is no period type' => sub { s/^PeriodType: .*\n//m },
		'there is no period' => sub { s/^Period: \d+$/Period: 0/m },
		'there is no default type' => sub { s/\[dflt\]// },
		'the first mapping is not the server' => sub { s/^1: (.*)\n2: (.*)/1: $2\n2: $1/m },
		'two samples have the same stack and labels' => sub { s/^(Samples:\n.*\n)(.*\n.*\n)/$1$2$2/m },
		'a sample has only zeros' => sub { s/^(Samples:\n.*\n)[ \d]+:/$1 0 0 0 0:/m },
		'a sample is negative' => sub { s/^(Samples:\n.*\n)[ \d]+:/$1 1 1 1 -1:/m },
		'a sample has no stack, or too deep a one' => sub { s/^(Samples:\n.*\n.*?: ).*/$1/m },
		'label "memory_context" is no text' => sub { s/ memory_context:/\n                memory_context:/ },
		'label "memory_context" is there twice' => sub { s/ (memory_context:\[.*?\])/ $1 $1/ },
		'mapping 1 is wrong in FN' => sub { s/^(1: .*)\[FN\]/$1/m },
		'location 2 is outside of its mapping' => sub { s/^(\s*2: )0x\w+/${1}0x1/m },
		'its duration is 5' => sub { s/^Samples:/Duration: 5\nSamples:/m },
		'it is too old' => sub { s/^Time: 20/Time: 19/m });

	for my $fault (sort keys %changes)
	{
		local $_ = $profile->{raw};

		$changes{$fault}->();
		my @faults = pprof_faults(read_pprof($_, $profile->{bytes}), build_id => $build_id, types => $types{default});
		ok((grep { $_ eq $fault || $fault eq 'it is too old' && / s old$/ } @faults), "the checker tells: $fault")
		  or diag("@faults");
	}
	is_deeply([ pprof_faults({ %$profile, bytes => 1 << 23 }, build_id => $build_id, types => $types{default}) ],
		['it is too large'], 'the checker tells: it is too large');
}

# Nothing has been sampled yet: a profile without samples, not an error, which would look
# like a server that is down.
my ($result, $stdout, $stderr) = $node->psql('postgres', "SELECT length(pg_leakhunt_pprof('all'))");
is($result, 0, 'a pprof without samples is no error');
like($stderr, qr/WARNING:  no process has a profile/, 'a pprof without samples has a warning');
for my $call (q{pg_leakhunt_pprof('all')}, q{pg_leakhunt_pprof('all', symbolize => false)})
{
	my ($empty) = variant("no samples, $call", $call, unnamed => $call =~ /symbolize/);

	is(scalar @{ $empty->{samples} }, 0, "$call has no samples before any is taken");
}

# Three sessions that leak at the same site, one of them another role's, and a fourth
# with a site of its own.
my (@sessions, @pids);
for my $role (undef, undef, 'clerk', undef)
{
	local $ENV{PGAPPNAME} = @pids == 3 ? 'till' : 'counter';
	my $session = $node->background_psql('postgres', extra_params => $role ? [ '-U', $role ] : []);

	push @sessions, $session;
	push @pids, session_pid($session);
	# what a session asks of itself it gets at once
	$session->query_safe('SELECT pg_leakhunt_start(pg_backend_pid(), 1)');
}
$_->query_safe('SELECT leak_top(64, 10000)') for @sessions[ 0 .. 2 ];
$sessions[3]->query_safe('SELECT leak_cache(1000, 300)');
my $user = ask($node, 'SELECT current_user');
my $live = 'SELECT sum(live_bytes) FROM pg_leakhunt_report';

# Live, of one process
my ($profile, $bytes) = variant('live', "pg_leakhunt_pprof($pids[0])");
is(pprof_sum($profile, 'inuse_space'), ask($node, "$live WHERE pid = $pids[0]"), 'a pprof of a process adds up to its live bytes');
is(pprof_sum($profile, 'inuse_objects'),
	ask($node, "SELECT sum(live_count) FROM pg_leakhunt_report WHERE pid = $pids[0]"), 'a pprof of a process adds up to its live chunks');
is(pprof_sum($profile, 'alloc_space'),
	ask($node, "SELECT sum(total_bytes) FROM pg_leakhunt_report WHERE pid = $pids[0]"), 'a pprof of a process adds up to its allocated bytes');
is_deeply([ pprof_values($profile, 'inuse_space', 'leaking_top') ], [640000], 'the leak is one sample in a pprof of its process');
my %keys = map { $_->{key} => 1 } map { @{ $_->{labels} } } @{ $profile->{samples} };
is(join(' ', sort keys %keys), 'backend_type memory_context', 'a pprof has neither query id nor PID as labels by default');
check_checker($profile);
my $top = go_pprof($bytes, '-top', '-unit=B');
like($top, qr/^File: postgres\nBuild ID: $build_id\n/, 'go tool pprof takes the server for the program');
like($top, qr/ 640000B .* leaking_top$/m, 'go tool pprof shows the leak');

# Of all: a site of several processes is one sample, unless their labels differ.
($profile, $bytes) = variant('all', q{pg_leakhunt_pprof('all')});
is(pprof_sum($profile, 'inuse_space'), ask($node, $live), 'a pprof of all processes adds up to their live bytes');
is_deeply([ pprof_values($profile, 'inuse_space', 'leaking_top') ], [1920000], 'a pprof of all processes has one sample for three of the same site');
my %labels = (
	'{}' => [1920000],
	'{memory_context}' => [1920000],
	'{user}' => [ 640000, 1280000 ],
	'{pid}' => [ 640000, 640000, 640000 ],
	'{pid,user,database,application,lifetime,query_id,memory_context,backend_type}' => [ 640000, 640000, 640000 ],
	'{application}' => [1920000]);
for my $labels (sort keys %labels)
{
	($profile) = variant("labels $labels", "pg_leakhunt_pprof('all', labels => '$labels')");
	is_deeply([ sort { $a <=> $b } pprof_values($profile, 'inuse_space', 'leaking_top') ],
		$labels{$labels}, "samples are apart by labels $labels");
	is(pprof_sum($profile, 'inuse_space'), ask($node, $live), "samples with labels $labels add up to the live bytes");
}
($profile) = variant('all labels',
	"pg_leakhunt_pprof('all', labels => '{pid,user,database,application,lifetime,query_id,memory_context,backend_type}')");
my ($sample) = grep { grep { $_ eq 'leaking_in' } pprof_stack($profile, $_) } @{ $profile->{samples} };
my %true = (
	pid => $pids[3],
	user => $user,
	database => 'postgres',
	application => 'till',
	lifetime => 'session',
	memory_context => 'CacheMemoryContext',
	backend_type => 'client backend');
is(pprof_label($sample, $_), $true{$_}, "label $_ has the value of the process") for sort keys %true;
like(pprof_label($sample, 'query_id'), qr/^-?\d+$/, 'label query_id is there if it is asked for');

# Types
for my $types ('inuse', 'alloc', 'peak', 'alloc,inuse', 'inuse,peak', 'peak,inuse,alloc')
{
	my $all = join ' ', map { $types =~ $_ ? $types{$_} : () } 'alloc', 'inuse', 'peak';

	for my $call ("pg_leakhunt_pprof($pids[0], types => '{$types}')", "pg_leakhunt_pprof('all', types => '{$types}')")
	{
		($profile) = variant($call, $call, types => $all, many_types => $types eq 'peak,inuse,alloc');
	}
}
is(pprof_sum($profile, 'peak_space'), ask($node, 'SELECT sum(peak_bytes) FROM pg_leakhunt_report'), 'peaks of a pprof add up');
$sessions[1]->query_safe('SELECT hold_chunk(3000000); SELECT release_chunk()');
($profile) = variant('peak', "pg_leakhunt_pprof($pids[1], peak => true)", types => $types{peak});
is_deeply([ pprof_values($profile, 'peak_space', 'hold_chunk') ], [3000000], 'a pprof of the peak has what was freed since');
($profile) = variant('what is in use', "pg_leakhunt_pprof($pids[1], types => '{inuse}')", types => $types{inuse});
is_deeply([ pprof_values($profile, 'inuse_space', 'hold_chunk') ], [], 'a pprof of what is in use does not have what was freed');

# Growth, which may be negative, and has a duration
$sessions[1]->query_safe('SELECT hold_chunk(2000000)');
is(ask($node, 'SELECT pg_leakhunt_baseline_all()'), 4, 'baselines are taken of four processes');
$sessions[1]->query_safe('SELECT release_chunk(); SELECT leak_top(64, 500)');
for my $call ("pg_leakhunt_pprof($pids[1], growth => true)", q{pg_leakhunt_pprof('all', growth => true)})
{
	($profile) = variant($call, $call, types => $types{inuse}, growth => 1);
	is_deeply([ pprof_values($profile, 'inuse_space', 'hold_chunk') ], [-2000000], "$call has what has shrunk as negative");
	is_deeply([ pprof_values($profile, 'inuse_space', 'leaking_top') ], [32000], "$call has what has grown");
}

# Helpers are left out, and what they have allocated is their callers'.
($profile) = variant('with helpers', q{pg_leakhunt_pprof('all')});
my $helpers = qr/^(?:palloc|repalloc|MemoryContextAlloc\w*|AllocSet\w*|MemoryContextStrdup|lappend)$/;
my @leaves = map { (pprof_stack($profile, $_))[0] } @{ $profile->{samples} };
ok((grep { $_ =~ $helpers } @leaves), 'a pprof with helpers has these as leaves');
my $with_helpers = pprof_sum($profile, 'inuse_space');
($profile) = variant('without helpers', q{pg_leakhunt_pprof('all', helpers => false)});
@leaves = map { (pprof_stack($profile, $_))[0] } @{ $profile->{samples} };
is(join(' ', grep { $_ =~ $helpers } @leaves), '', 'a pprof without helpers has none as leaf');
is(pprof_sum($profile, 'inuse_space'), $with_helpers, 'a pprof without helpers has the same sum');

# Without names: who has the binaries can find them out.
($profile, $bytes) = variant('without names', "pg_leakhunt_pprof('all', symbolize => false)", unnamed => 1);
is(pprof_sum($profile, 'inuse_space'), $with_helpers, 'a pprof without names has the same sum');
unlike($bytes, qr/leaking_top|palloc/, 'a pprof without names has no names of functions');
like(go_pprof($bytes, '-top', '-unit=B'), qr/ leaking_top$/m, 'go tool pprof finds names by the addresses');
($profile) = variant('without names and helpers', "pg_leakhunt_pprof('all', symbolize => false, helpers => false)", unnamed => 1);
is(pprof_sum($profile, 'inuse_space'), $with_helpers, 'a pprof without names and helpers has the same sum');

# A limited number of samples
($profile, $bytes) = variant('three samples', q{pg_leakhunt_pprof('all', max_samples => 3)});
is(scalar @{ $profile->{samples} }, 3, 'a pprof of at most three samples has three');
is(pprof_sum($profile, 'inuse_space'), $with_helpers, 'a pprof of at most three samples has all bytes');
is((pprof_stack($profile, $profile->{samples}[2]))[0], '[smaller sites]', 'a pprof of at most three samples has one for all smaller sites');
like($bytes, qr/pg_leakhunt: \[smaller sites\] are the \d+ smallest of \d+ samples/, 'a pprof of at most three samples tells how many are one');
($profile) = variant('one sample', "pg_leakhunt_pprof($pids[0], max_samples => 1)");
is(scalar @{ $profile->{samples} }, 1, 'a pprof of at most one sample has one');

# Sampling is stopped.
$_->query_safe('SELECT pg_leakhunt_stop(pg_backend_pid())') for @sessions;
for my $call ("pg_leakhunt_pprof($pids[0])", q{pg_leakhunt_pprof('all')})
{
	($profile, $bytes) = variant("stopped, $call", $call);
	like($bytes, qr/not sampling now/, "$call tells that processes are not sampled");
	is($profile->{period}, 512 * 1024, "$call has the period of the settings if processes are not sampled");
}

# What an exporter sends
variant(
	'an exporter',
	"pg_leakhunt_pprof('all', types => '{inuse}', labels => '{memory_context,backend_type}', symbolize => true, helpers => false, max_samples => 16000, max_bytes => 4194304)",
	types => $types{inuse});

# Dumps
my $file = ask($node, "SELECT pg_leakhunt_dump($pids[0])");
my $named = ask($node, "SELECT pg_leakhunt_dump($pids[0], true)");
variant('a dump', "pg_leakhunt_pprof('$file')", of_dump => 1);
variant('a dump without names', "pg_leakhunt_pprof('$named', symbolize => false)", of_dump => 1, unnamed => 1);
($profile) = variant('a dump with labels', "pg_leakhunt_pprof('$named', labels => '{database,user,pid}')", of_dump => 1);
is(pprof_label($profile->{samples}[0], 'user'), $user, 'a pprof of a dump has the role as label');
$sessions[0]->query_safe('SELECT leak_top(64, 100)');
my $later = ask($node, "SELECT pg_leakhunt_dump($pids[0])");
($profile) = variant('the difference of dumps', "pg_leakhunt_pprof('$later', base => '$file')",
	of_dump => 1, types => $types{inuse}, growth => 1);

# 20,000 sites, by a dump: cut to what stores take, and whole.
my $sites = 20_000;
my $sum = $sites * ($sites + 1) / 2;
write_dump(
	$node->data_dir . '/pg_leakhunt/1.1.manual.profile',
	pid => $pids[0],
	modules => [ [ $postgres, pack('H*', $build_id) ] ],
	sites => [
		map {
			my $site = $_;
			{ bytes => $site, stack => [ map { 4096 + 16 * ($site * 11 + $_ * $_) } 1 .. 12 ] }
		} 1 .. $sites ]);
my %limited = (
	'' => $sites,
	', max_samples => 16000' => 16_000,
	', max_bytes => 1048576' => undef,
	', max_bytes => 16384' => undef,
	', max_samples => 16000, max_bytes => 4194304' => undef);
for my $limit (sort keys %limited)
{
	my ($limited, $bytes) = variant("20,000 sites$limit", "pg_leakhunt_pprof('1.1.manual.profile'$limit)",
		of_dump => 1, large => $limit !~ /16000.*bytes/);
	my ($most) = $limit =~ /max_bytes => (\d+)/;
	my $count = @{ $limited->{samples} };

	is(pprof_sum($limited, 'inuse_space'), $sum, "a pprof of 20,000 sites$limit adds up");
	is($count, $limited{$limit}, "a pprof of 20,000 sites$limit has the number of samples that it may have") if defined $limited{$limit};
	next unless $most;
	cmp_ok(length $bytes, '<=', $most, "a pprof of 20,000 sites$limit is as small as it must be");
	cmp_ok(length $bytes, '>', 0.9 * $most, "a pprof of 20,000 sites$limit is not much smaller than it may be") if $most < 4_000_000;
	my ($rest, $all) = $bytes =~ /are the (\d+) smallest of (\d+) samples/;
	is($all, $sites, "a pprof of 20,000 sites$limit tells how many samples there are") if defined $all;
	is($all - $rest + 1, $count, "a pprof of 20,000 sites$limit tells how many of them are one") if defined $all;
}

# Names and texts that are not UTF-8, and of other encodings
my $version = int($node->pg_version =~ s/^(\d+).*/$1/r);
for my $encoding ('LATIN1', 'UTF8', $version < 19 ? 'MULE_INTERNAL' : ())
{
	ask($node, "CREATE DATABASE \L$encoding\E ENCODING '$encoding' LOCALE 'C' TEMPLATE template0");
	$node->safe_psql(lc $encoding, 'CREATE EXTENSION pg_leakhunt');
}
my $odd = $node->background_psql('postgres');
$odd->query_safe("SELECT pg_leakhunt_start(pg_backend_pid(), 1)");
$odd->query_safe("SET application_name = 'odd'");
$odd->query_safe("SELECT leak_named_context(E'sharp \\xc3\\xa4\\xe4\\xff name', 100)");
my $odd_pid = session_pid($odd);
for my $database ('postgres', 'latin1', 'utf8', $version < 19 ? 'mule_internal' : ())
{
	($profile, $bytes) = variant(
		"names that are not UTF-8, in $database",
		"pg_leakhunt_pprof('all', labels => '{memory_context,application,query_id}')",
		database => $database);
	like($bytes, $database eq 'postgres' ? qr/sharp \xc3\xa4\?\? name/ : qr/sharp \?\?\?\? name/, "a name that is not UTF-8 is valid in a pprof in $database");
}

# What can't be had
my @wrong = (
	[ "$pids[0], types => '{inuse,objects}'", 'unrecognized type "objects"\nHINT:  Valid values are alloc, inuse and peak\.' ],
	[ "'all', labels => '{mood}'", 'unrecognized label "mood"\nHINT:  Valid values are memory_context, backend_type, lifetime, query_id, pid, database, user and application\.' ],
	[ "'all', types => '{}'", 'types must not be empty' ],
	[ "'all', types => '{NULL}'", 'types must not contain null' ],
	[ "'all', labels => '{pid,NULL}'", 'labels must not contain null' ],
	[ "'all', labels => NULL", 'labels must not be null' ],
	[ "'all', symbolize => NULL", 'symbolize must not be null' ],
	[ "'all', helpers => NULL", 'helpers must not be null' ],
	[ "'all', max_samples => 0", 'max_samples must be at least 1' ],
	[ "'all', max_bytes => 1000", 'max_bytes must be at least 16384' ],
	[ "'all', peak => true, types => '{inuse}'", 'cannot show the peak and other types at once' ],
	[ "'all', growth => true, types => '{alloc}'", 'cannot show growth of type "alloc"' ],
	[ "'all', growth => true, types => '{peak}'", 'cannot show more than one of growth, base and peak at once' ],
	[ "'$file', base => '$named', types => '{alloc,inuse}'", 'cannot show growth of type "alloc"' ]);
for my $case (@wrong)
{
	($result, $stdout, $stderr) = $node->psql('postgres', "SELECT pg_leakhunt_pprof($case->[0])");
	like($stderr, qr/ERROR:  $case->[1]/, "pg_leakhunt_pprof($case->[0]) is refused with the reason");
}

$odd->quit;
$_->quit for @sessions;
$node->stop;
done_testing();
