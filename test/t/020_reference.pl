# Holds doc/reference.md to the truth: all that a server's catalog has of the
# extension is in it, with types and defaults, and nothing else; its thresholds
# are those of the code, and links of all pages lead somewhere.
# Needs files, which psql can't read.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = "$FindBin::RealBin/../..";
# with what others leave out
my $node = new_server('main', "pg_leakhunt.proof_max_memory = '1GB'\n");

# The cells of a line of a table; none where it is no such line.
sub cells
{
	my ($line) = @_;

	return map { s/^\s+|\s+$//gr } $line =~ /(?<=\|)((?:\\\||[^|])*)\|/g;
}

# The facts that the reference states: rows of its tables, by the names of their
# columns, and signatures of functions; each with the headings that it is under.
sub read_reference
{
	my ($part, $object, @columns) = ('', '');
	my @facts;

	for my $line (split /\n/, slurp_file("$top/doc/reference.md"))
	{
		my @cells = cells($line);
		my %fact = (part => $part, object => $object);

		($part, $object) = ($1, '') if $line =~ /^## (.*)/;
		$object = $1 if $line =~ /^### (.*)/;
		push @facts, { %fact, signature => $line } if $line =~ /^\w+\(.*\) RETURNS /;
		if (!@cells)
		{
			@columns = ();
		}
		elsif (!@columns)
		{
			@columns = @cells;
		}
		elsif ($line !~ /^\|---/)
		{
			@fact{@columns} = map { s/^`(.*)`$/$1/r } @cells;
			push @facts, \%fact;
		}
	}
	return @facts;
}

# Each of the facts of one side must be on the other side, too.
sub agree
{
	my ($what, $documented, $true) = @_;
	my %documented = map { $_ => 1 } @$documented;
	my %true = map { $_ => 1 } @$true;
	my @missing = grep { !$documented{$_} } sort keys %true;
	my @unknown = grep { !$true{$_} } sort keys %documented;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	isnt(scalar(keys %true), 0, "the server has $what");
	is(@missing + @unknown, 0, "$what: the reference says what is true");
	diag("missing in doc/reference.md: $_") for @missing;
	diag("untrue in doc/reference.md: $_") for @unknown;
}

# The rows of a query as texts, with the names that the reference uses for types.
sub rows
{
	my ($query) = @_;
	my %short = (
		'integer' => 'int',
		'boolean' => 'bool',
		'double precision' => 'float8',
		'timestamp with time zone' => 'timestamptz');
	my $long = join '|', map { quotemeta } keys %short;

	return [ map { s/\b($long)\b/$short{$1}/gr } split /\n/,
		ask($node, $query) ];
}

# A condition: the extension has that object of a catalog.
sub is_member
{
	my ($catalog) = @_;

	return qq{oid IN (SELECT objid FROM pg_depend
		WHERE classid = '$catalog'::regclass AND deptype = 'e' AND
			refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_leakhunt'))};
}

my @reference = read_reference();
my @views = grep { $_->{part} eq 'Views' } @reference;
my @functions = grep { $_->{part} eq 'Functions' } @reference;
my @settings = grep { $_->{part} eq 'Settings' } @reference;
my @metrics = grep { $_->{part} eq 'Metrics' } @reference;

# Relations.
agree(
	'views and tables',
	[ map { $_->{object} } @views ],
	rows('SELECT relname FROM pg_class WHERE ' . is_member('pg_class')));
agree(
	'columns of views',
	[ map { "$_->{object}.$_->{column} $_->{type}" } @views ],
	rows(
		q{SELECT format('%s.%s %s', relname, attname, format_type(atttypid, atttypmod))
		FROM pg_class JOIN pg_attribute ON attrelid = oid
		WHERE attnum > 0 AND } . is_member('pg_class')));

# What the script of the extension and the tables say of columns is what src says.
my $complaint = `"$top/test/columns" --check 2>&1`;
is($complaint, '', 'the script and the tables of columns say what src/functions/columns says');

# Metrics; some are there only with a suspect, a large statement, a proof, a census, a forecast, or where malloc is glibc's.
agree(
	'metrics',
	[ map { $_->{name} } @metrics ],
	rows(q{SELECT name FROM pg_leakhunt_metrics
		UNION VALUES ('suspect_bytes'), ('memory_forecast_seconds'), ('suspect_growth_bytes_per_second'), ('context_bytes'), ('malloc_bytes'),
			('statement_peak_bytes'), ('lost_bytes'), ('lost_resettable_bytes'), ('oldest_proof_seconds')}));

# Datadog's Agent leaves metrics out whose names its file does not have.
my $datadog = slurp_file("$top/monitoring/datadog-pg_leakhunt.yml");
is(join("\n", sort $datadog =~ /^ +(\w+): \{ name: pg_leakhunt\.\1, type: gauge \}$/mg), join("\n", sort map { $_->{name} } @metrics), 'Datadog gets each metric');

# Functions, but for those that are hidden: many have the rows of a view.
my $backs_view = q{EXISTS (SELECT FROM pg_class WHERE relkind = 'v' AND '_' || relname = proname)};
my $public = is_member('pg_proc') . q{ AND proname ~ '^pg_'};
my $has_rows_of_report = q{(prorettype = 'pg_leakhunt_report'::regtype OR
	proargnames[pronargs + 1:] =
		(SELECT array_agg(attname::text ORDER BY attnum) FROM pg_attribute
		WHERE attrelid = 'pg_leakhunt_report'::regclass AND attnum > 0))};

agree(
	'functions',
	[ grep { defined } map { $_->{signature} } @functions ],
	rows(
		qq{SELECT format('%s(%s) RETURNS %s', proname,
			(SELECT string_agg(format('%s %s%s', proargnames[n], format_type(proargtypes[n - 1], NULL),
					' DEFAULT ' || regexp_replace(pg_get_function_arg_default(oid, n), '::.*', '')), ', ' ORDER BY n)
				FROM generate_series(1, pronargs) n),
			CASE WHEN $has_rows_of_report THEN 'rows of pg_leakhunt_report'
				WHEN proallargtypes IS NOT NULL THEN 'rows'
				ELSE pg_get_function_result(oid) END)
		FROM pg_proc WHERE $public}));
agree(
	'columns of functions',
	[
		map { "$_->{object}.$_->{column} $_->{type}" }
		  grep { $_->{column} } @functions
	],
	rows(
		qq{SELECT format('%s.%s %s', proname, proargnames[n], format_type(proallargtypes[n], NULL))
		FROM pg_proc, generate_series(pronargs + 1, cardinality(proallargtypes)) n
		WHERE NOT coalesce($has_rows_of_report, false) AND $public}));
agree(
	'functions behind views: the columns of the view',
	rows(
		qq{SELECT format('%s.%s %s', substr(proname, 2), proargnames[n], format_type(proallargtypes[n], NULL))
		FROM pg_proc, generate_series(1, cardinality(proallargtypes)) n
		WHERE $backs_view AND } . is_member('pg_proc')),
	rows(
		qq{SELECT format('%s.%s %s', relname, attname, format_type(atttypid, atttypmod))
		FROM pg_class JOIN pg_attribute ON attrelid = oid
		WHERE attnum > 0 AND relname IN
			(SELECT substr(proname, 2) FROM pg_proc WHERE $backs_view AND }
		  . is_member('pg_proc') . ')'));

# Examples are run, but for those that need another extension.
for my $example (grep { !/pg_stat_statements/ } slurp_file("$top/doc/reference.md") =~ /^```\n(SELECT .*?;)\n```$/msg)
{
	is($node->psql('postgres', $example), 0, 'an example returns: ' . $example =~ s/\n.*//sr);
}

# Settings: nothing in the configuration of this server changes one.
agree(
	'settings',
	[ map { "$_->{setting} = $_->{default}, $_->{when}" } @settings ],
	rows(
		q{SELECT format('%s = %s, %s', name, coalesce(nullif(current_setting(name), ''), ''''''),
			CASE context WHEN 'sighup' THEN 'reload'
				WHEN 'superuser' THEN 'reload, or SET by a superuser'
				WHEN 'postmaster' THEN 'fixed when loaded'
				ELSE context END)
		FROM pg_settings WHERE name LIKE 'pg\_leakhunt.%'}));

# The thresholds that the reference names for each verdict, in the order of its text.
my %named = (
	'leak' => [
		'FLOOR_BYTES', 'LARGE_BYTES', 'ERROR_PART', 'EARLY_SIGMAS', 'EPOCHS', 'GAIN_SIGMAS', 'LATE_SIGMAS', 'STEADINESS',
		'USED_AGAIN_PART', 'COUNTS', 'BUFFER_COUNTS', 'SITE_FALL_PART', 'EXACT_SAMPLES', 'LARGE_BYTES', 'RATE_US',
		'FLOOR_BYTES', 'LOST_ERROR_PART', 'REACHED_PART', 'REACHED_BYTES'
	],
	'query' => [ 'LARGE_BYTES', 'QUERY_LIMITS', 'MANY_LIMITS', 'QUERY_LIMITS', 'FUNCTION_BYTES', 'SURE_BYTES', 'RATE_US' ],
	'held' => [
		'LARGE_BYTES', 'ERROR_PART', 'HELD_TRANSACTIONS', 'LARGE_BYTES', 'VERY_MANY_CONTEXTS', 'MANY_CONTEXTS', 'MANY_BYTES', 'MANY_CURSORS',
		'REST_US', 'REST_PART', 'REST_US', 'REACHED_REST_PART'
	],
	'contexts' => [ 'LARGE_BYTES', 'VERY_MANY_CONTEXTS', 'CODE_BYTES', 'LATE_CONTEXTS', 'CONTEXT_RISES', 'STEADINESS', 'MANY_CONTEXTS', 'RATE_US' ],
	'malloc' => [
		'MISSED_ERRORS', 'MISSED_BYTES', 'LARGE_BYTES', 'RISES', 'SURE_BYTES', 'EPOCHS', 'FALL_PART', 'STEADINESS',
		'GIVEN_OUT_BYTES', 'FALL_PART', 'REACHED_PART', 'REACHED_BYTES', 'KEPT_BYTES', 'EXPLAINED_PART', 'MALLOC_ADDS', 'RATE_US'
	],
	'mapped' => [ 'KEPT_BYTES', 'LARGE_BYTES', 'GIVEN_OUT_BYTES', 'FALL_PART', 'RATE_US' ],
	'freed' => [ 'KEPT_BYTES', 'KEPT_US' ],
	'growing' => [ 'GROWTH_BYTES', 'ERROR_PART', 'EPOCHS', 'GROWTH_ERRORS', 'GROWTH_SCORE', 'RATE_US', 'BEGUN_EPOCHS', 'PROVEN_TIMES' ]);
# what a number with a unit is in the code
my %factors = ('kB' => 1024, 'MB' => 1024 * 1024, 's' => 1_000_000, '%' => 0.01);
my %thresholds = slurp_file("$top/src/judge/suspect.h") =~
  /^#define PLH_SUSPECT_(\w+)\s+(?:INT64CONST\()?([0-9.]+)/mg;
my ($verdicts) = slurp_file("$top/doc/reference.md") =~ /^## Verdicts\n(.*?)^## /ms;
my %texts = $verdicts =~ /^### (\w+)\n(.*?)(?=^### |\z)/msg;
my (@documented, @true);

for my $verdict (keys %texts)
{
	my @numbers;

	push @numbers, $1 * ($factors{ $2 // '' } // 1) while $texts{$verdict} =~ /(\d+(?:\.\d+)?)(?: ?(kB|MB|s|%)(?!\w))?/g;
	push @documented, "$verdict: @numbers";
}
for my $verdict (keys %named)
{
	push @true, "$verdict: " . join ' ', map { ($thresholds{$_} // 0) + 0 } @{ $named{$verdict} };
}
agree('thresholds', \@documented, \@true);
agree(
	'names of thresholds',
	[ map { @$_ } values %named ],
	[ keys %thresholds ]);

# The anchors that a page has, as web pages of repositories make them.
sub anchors
{
	my ($text) = @_;
	my (%seen, @anchors);

	for ($text =~ /^#+ (.*)$/mg)
	{
		my $anchor = lc(s/[^\w\s-]//gr) =~ s/ /-/gr;

		push @anchors, $anchor . ($seen{$anchor} ? "-$seen{$anchor}" : '');
		$seen{$anchor}++;
	}
	return @anchors;
}

# Links of all pages lead to files that are there, and to headings in them.
my %pages = map { s{^\Q$top\E/}{}r => slurp_file($_) } glob "$top/*.md $top/doc/*.md $top/doc/reports/*.md $top/test/incidents/[0-9]*.md $top/monitoring/*.md $top/packaging/*/*.md";
my @astray;

for my $page (sort keys %pages)
{
	my ($folder) = $page =~ m{^(.*/)?};

	for my $link ($pages{$page} =~ /\]\(([^)\s]+)\)/g)
	{
		next if $link =~ /^https?:/;
		my ($file, $anchor) = split /#/, $link;
		my $path = $file eq '' ? $page : ($folder // '') . $file;

		# up from doc/ or the like
		1 while $path =~ s{[^/.]+/\.\./}{};
		push @astray, "$page: $link" if !-e "$top/$path"
		  or defined $anchor && !grep { $_ eq $anchor } anchors($pages{$path} // '');
	}
}
is(join("\n", @astray), '', 'all links lead somewhere');
cmp_ok(scalar(keys %pages), '>', 10, 'there are pages');

# What the pages for users name is in the reference.
my %known = map { $_ => 1 } $pages{'doc/reference.md'} =~ /\b(pg_leakhunt_\w+)/g;
for my $page (qw(README.md doc/leak-or-cache.md doc/walkthrough.md doc/pools.md doc/attach.md doc/ci.md doc/troubleshooting.md doc/names.md))
{
	is(join(' ', grep { !$known{$_} } $pages{$page} =~ /\b(pg_leakhunt_\w+)/g),
		'', "the reference has all names of $page");
}

# README is short: the words that are not in its two tables of reference, those of verdicts and
# of what is supported.
my $readme = $pages{'README.md'} =~ s/^<!-- .*? -->$//mgr;
$readme =~ s/^\| (?:`verdict`|\| supported) \|.*\n(?:\|.*\n)+//mg;
my @words = split ' ', $readme;
cmp_ok(scalar(@words), '<=', 1500, 'README has no more than 1,500 words');

done_testing();
