# What all programs have: a version, a help text, a man page with the same options, and
# completion in bash.  Needs the programs as they are installed; no server runs.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my %folder = map { $_ => `$ENV{PG_CONFIG} --$_` =~ s/\n//r } qw(bindir sharedir mandir);
my ($version) = slurp_file("$folder{sharedir}/extension/pg_leakhunt.control") =~ /^default_version = '(.+)'$/m;
my $completion = "$folder{sharedir}/pg_leakhunt/pg_leakhunt.bash";
my $has_psycopg2 = system("/usr/bin/python3 -c 'import psycopg2' 2>/dev/null") == 0;
my @programs = map { s{.*/}{}r } grep { -f && -x } glob("$folder{bindir}/pg_leakhunt_*");

is(join(' ', @programs), 'pg_leakhunt_attach pg_leakhunt_demo pg_leakhunt_export pg_leakhunt_look pg_leakhunt_regress pg_leakhunt_remove', 'all programs are installed');

# The options that a text names, in alphabetical order.
sub options_in
{
	my %options = map { $_ => 1 } $_[0] =~ /(?<![\w-])(--[a-z][a-z-]*)/g;

	return sort keys %options;
}

# What bash proposes for the last of these words.
sub completions
{
	my (@words) = @_;

	return run_tool('bash', '-c', <<'SCRIPT', 'bash', $completion, @words) =~ s/\n/ /gr =~ s/ $//r;
. "$1"
COMP_WORDS=("${@:2}") COMP_CWORD=$(($# - 2))
_pg_leakhunt "$2" "${@: -1}" "${@: -2:1}"
printf '%s\n' "${COMPREPLY[@]}"
SCRIPT
}

for my $program (@programs)
{
	SKIP:
	{
		skip "$program: there is no psycopg2 for the system's python3", 3 if $program eq 'pg_leakhunt_export' && !$has_psycopg2;

		my $page = slurp_file("$folder{mandir}/man1/$program.1") =~ s/\\-/-/gr;
		my @modes = $program eq 'pg_leakhunt_export' ? ([], ['push'], ['serve']) : ([]);
		my @options = map { options_in(run_tool("$folder{bindir}/$program", @$_, '--help')) } @modes;

		is(run_tool("$folder{bindir}/$program", '--version'), "$program $version\n", "$program has the extension's version");
		like($page, qr/^\.TH \U$program\E 1 "" "pg_leakhunt $version" /, "$program: so has its man page");
		is(join(' ', grep { index($page, $_) < 0 } @options), '', "$program: its man page has all options of its help text");
		for my $mode (@modes)
		{
			is(completions("$folder{bindir}/$program", @$mode, '--'),
				join(' ', options_in(run_tool("$folder{bindir}/$program", @$mode, '--help'))),
				"@{[ $program, @$mode ]}: bash completes these options");
		}
		is(run_tool('bash', '-c', '. "$1"; complete -p "$2"', 'bash', $completion, $program),
			"complete -o default -F _pg_leakhunt $program\n", "$program: bash knows how to complete it");
	}
}

my $look = "$folder{bindir}/pg_leakhunt_look";
is(completions($look, '--format', ''), 'text json html', 'the formats are proposed');
is(completions($look, '--format', '=', 'js'), 'json', 'also behind an equals sign');
is(completions($look, '--format', '='), 'text json html', 'and with nothing behind it');
is(completions($look, '--log', ''), '', 'where a file is wanted, no word is proposed: bash proposes files');
like(completions($look, '--redact', ''), qr/^--binary .*--version\b/, 'behind an option without a value, further options are');
if ($has_psycopg2)
{
	is(completions("$folder{bindir}/pg_leakhunt_export", ''), '--help --version push serve', 'the modes of pg_leakhunt_export are proposed');
	is(completions("$folder{bindir}/pg_leakhunt_export", 'push', '--as', ''), 'ingest push otel files', 'and the kinds of its URLs');
}

my $tests = PostgreSQL::Test::Utils::tempdir;
mkdir "$tests/sql" or die $!;
append_to_file("$tests/sql/$_.sql", '') for qw(a_test b_test), '$(touch${IFS}run)', '`touch run`';
chdir $tests or die $!;
like(join(' ', sort split / /, completions("$folder{bindir}/pg_leakhunt_regress", '')), qr/ a_test b_test$/, 'the tests of a folder are proposed');
is(completions("$folder{bindir}/pg_leakhunt_regress", 'b'), 'b_test', 'those that begin with what is written');
ok(!-e "$tests/run", 'what stands in the name of a file is not run');
done_testing();
