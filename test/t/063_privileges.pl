# Who may do what: the table in doc/safety.md against the catalog, and what a role
# without privileges is told.  Needs files and sessions of several roles.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main');
$node->safe_psql('postgres',
	'CREATE ROLE plain LOGIN; CREATE ROLE watcher LOGIN; GRANT pg_monitor TO watcher');

# What a role is told that asks in one session.
sub told
{
	my ($role, @queries) = @_;
	my ($result, $stdout, $stderr) = $node->psql('postgres', join(';', @queries),
		extra_params => [ '-U', $role ]);

	is($result, 0, "$role may ask") or diag($stderr);
	return $stderr;
}

my $hidden = qr/NOTICE:  pg_leakhunt shows only processes of roles whose privileges you have\nHINT:  .*"pg_read_all_stats".*"pg_monitor"/;
my @questions = ('SELECT count(*) FROM pg_leakhunt_suspects', 'SELECT count(*) FROM pg_leakhunt_report');
is(told('plain', @questions), '', 'a role that has all sessions is told of none that are hidden');

my $session = $node->background_psql('postgres');
session_pid($session);
for my $view (qw(processes sampling report contexts suspects metrics symbols))
{
	like(told('plain', "SELECT count(*) FROM pg_leakhunt_$view"), $hidden,
		"a plain role is told that pg_leakhunt_$view does not show all");
}
my @said = told('plain', @questions) =~ /(NOTICE)/g;
is(scalar(@said), 1, 'a session is told once');
is(told('watcher', @questions), '', 'a member of pg_monitor sees all');
$session->quit;

# The table: each object with what "who" says of it.
my %table;
my ($section) = slurp_file("$FindBin::RealBin/../../doc/safety.md") =~ /^## Privileges\n(.*?)^## /ms;
for my $line (grep { /^\| `/ } split /\n/, $section)
{
	my (undef, $objects, $who) = split /\|/, $line;

	$table{$_}{ $who =~ s/^ +| +$//gr }++ for $objects =~ /`_?(pg\w+)`/g;
}
is_deeply([ grep { keys %{ $table{$_} } != 1 || grep { $_ != 1 } values %{ $table{$_} } } sort keys %table ],
	[], 'the table has each object once');
my %who = map { $_ => keys %{ $table{$_} } } keys %table;

# What PUBLIC may do, by the catalog: "x" stands for EXECUTE, "r" for SELECT.
my $privileges = $node->safe_psql('postgres', q{
	SELECT name, string_agg(DISTINCT coalesce(privileges, 'none'), ' ')
	FROM (
		SELECT ltrim(p.proname, '_') AS name, (SELECT string_agg(a.privilege_type, ',' ORDER BY 1)
			FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a WHERE a.grantee = 0)
		FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
		WHERE d.deptype = 'e' AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_leakhunt')
		UNION ALL
		SELECT c.relname, (SELECT string_agg(a.privilege_type, ',' ORDER BY 1)
			FROM aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a WHERE a.grantee = 0)
		FROM pg_class c JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid
		WHERE d.deptype = 'e' AND c.relkind IN ('r', 'v')
			AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_leakhunt')) objects (name, privileges)
	GROUP BY name});
my %granted = map { split /\|/ } split /\n/, $privileges;

cmp_ok(scalar(keys %granted), '>', 30, 'the catalog has the objects of the extension');
is_deeply([ sort keys %who ], [ sort keys %granted ], 'the table has all objects, and no others');
my %meant = (
	'EXECUTE' => 'everybody', 'SELECT' => 'everybody reads', 'EXECUTE SELECT' => 'everybody', 'none' => 'by grant');
for my $name (sort keys %granted)
{
	# a view and its function, or a view without one, are for the same callers
	my $meaning = $meant{ $granted{$name} } // "mixed: $granted{$name}";
	$meaning = 'everybody' if $meaning eq 'everybody reads' && $who{$name} eq 'everybody';
	is($who{$name}, $meaning, "the table says who may use $name");
}
done_testing();
