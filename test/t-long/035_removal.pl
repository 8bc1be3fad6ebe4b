# What pg_leakhunt leaves, and the program that removes it: needs a server that is gone
# without a word, and one that must not notice.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

# Run the program; returns its status and what it prints.
sub run_program
{
	my (@arguments) = @_;
	my ($stdout, $stderr) = ('', '');

	IPC::Run::run([ 'pg_leakhunt_remove', @arguments ], '<', '/dev/null', '>', \$stdout, '2>', \$stderr);
	return ($? >> 8, $stdout, $stderr);
}

# The same, of which success is expected.
sub output_of
{
	my ($status, $stdout, $stderr) = run_program(@_);

	is("$status$stderr", '0', "pg_leakhunt_remove @_") or diag($stdout);
	return $stdout;
}

my $alive = new_server('alive');
my $gone = new_server('gone');
my %directories = map { $_->name => profile_directory($_) } $alive, $gone;
my %dumps = map { $_->name => $_->data_dir . '/pg_leakhunt' } $alive, $gone;

# Whose a directory is stands in it.
for my $node ($alive, $gone)
{
	my $note = slurp_file($directories{ $node->name } . '/README');
	my ($postmaster) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');

	like($note, qr/pg_leakhunt, which hunts memory leaks/, 'the note says what the directory is');
	is_deeply(
		[ $note =~ /^(data_directory|port|postmaster|pid_namespace): (.*)$/mg ],
		[
			data_directory => $node->data_dir, port => $node->port,
			postmaster => $postmaster, pid_namespace => readlink('/proc/self/ns/pid')
		],
		'the note says whose the directory is');
	is((stat($directories{ $node->name } . '/README'))[2] & 0777, 0600, 'the note is for its user only');
}
is( ask($alive, "SELECT count(*) FROM pg_leakhunt_processes WHERE pid IS NULL OR state = 'crashed'"),
	0, 'the note is no profile');

# One leaves a profile in memory and dump files, the other has them and runs.
my %sessions = map { $_->name => $_->background_psql('postgres') } $alive, $gone;
for my $node ($alive, $gone)
{
	my $session = $sessions{ $node->name };

	$session->query_safe('SELECT leak_top(1000, 40000)');
	ask($node, 'SELECT pg_leakhunt_dump(' . session_pid($session) . ')');
}
my ($killed) = session_pid($sessions{gone});
append_to_file("$dumps{$_}/notes.txt", 'not ours') for keys %dumps;
append_to_file("$dumps{gone}/$killed.17.tmp", 'begun');
append_to_file("$dumps{gone}/statements.4711$_", 'begun') for '', '.new', '.damaged';
my ($reasons) = slurp_file("$FindBin::RealBin/../../doc/reference.md") =~ /^\| reason \| written when \|.*\n.*\n((?:\|.*\n)+)/m;
for my $reason ($reasons =~ /^\| `(\w+)` \|/mg)
{
	append_to_file("$dumps{gone}/$killed.18.$reason.$_", 'begun') for 'profile', 'heap';
}
is(scalar(() = glob("$dumps{gone}/$killed.18.*")), 10, 'there are dumps of each reason, with their texts');
# the postmaster must not see the first death, after which it would stop by itself
kill 'STOP', $1 if slurp_file($gone->data_dir . '/postmaster.pid') =~ /^(\d+)/;
kill 'KILL', $killed;
kill_server($gone);
wait_until(sub { output_of() =~ /^  \Q$directories{gone}\E, .*: can be removed$/m },
	'the directory of the server that is gone can be removed');
ok(-e "$directories{gone}/$killed", 'a directory that is left has the profile of the process that was killed');

# Another who removes files there does so while one looks.
my $churn = fork // die $!;
if ($churn == 0)
{
	for (;;)
	{
		append_to_file("$directories{gone}/tmp.$_", 'x') for 1 .. 50;
		unlink "$directories{gone}/tmp.$_" for 1 .. 50;
	}
}
is(join('', map { (run_program())[2] } 1 .. 20), '', 'files that go while one looks are no errors');
kill 'KILL', $churn;
waitpid $churn, 0;
unlink "$directories{gone}/tmp.$_" for 1 .. 50;

# It is shown, and nothing is done.  psql finds no server: the directory that PGHOST
# names has none at the port of servers that are nobody's tests.
my $shown = output_of('-D', $gone->data_dir);
like($shown, qr{^  \Q$directories{gone}\E, (?:1 file|\d+ files), \d+ kB, of a server that is gone, process \d+ of \Q@{[$gone->data_dir]}\E at port @{[$gone->port]}: can be removed$}m,
	'profiles that can be removed are shown');
like($shown, qr{^  \Q$dumps{gone}\E, \d+ files: can be removed$}m, 'dump files that can be removed are shown');
like($shown, qr{^  \Q@{[$gone->data_dir]}\E/postgresql\.conf:\d+:shared_preload_libraries = 'pg_leakhunt'$}m, 'settings that name the module are shown');
unlike($shown, qr/\Q$directories{alive}\E/, 'with a data directory nothing of other servers is shown');
like($shown, qr/^  psql could not connect, so that none were looked at \(it may have to run as the server's user\): .+/m, 'that psql could not connect is told');
like($shown, qr/^Nothing was removed: --yes removes what can be\.$/m, 'that nothing was removed is told');
ok(-d $directories{gone} && -e "$dumps{gone}/$killed.17.tmp", 'without --yes nothing is removed');

# The databases are those of the server that psql reaches.
{
	local $ENV{PGHOST} = $alive->host;
	local $ENV{PGPORT} = $alive->port;
	my $hostile = q{it's "a" \\ $x};

	$alive->safe_psql('postgres', 'CREATE DATABASE without; CREATE DATABASE "it\'s ""a"" \\ $x"');
	run_tool('psql', '-Xq', '-d', q{dbname='it\\'s "a" \\\\ $x'}, '-c', 'CREATE EXTENSION pg_leakhunt');
	$alive->safe_psql('postgres', q{ALTER DATABASE without SET session_preload_libraries = 'pg_leakhunt'});
	$shown = output_of();
	like($shown, qr/^  postgres: DROP EXTENSION pg_leakhunt; there$/m, 'a database with the extension is shown');
	like($shown, qr/^  \Q$hostile\E: DROP EXTENSION pg_leakhunt; there$/m, 'a database with an odd name and the extension is shown');
	unlike($shown, qr/^  without: /m, 'a database without the extension is not shown');
	like($shown, qr/^  loaded by shared_preload_libraries = pg_leakhunt$/m, 'the setting that loads the module is shown');
	like($shown, qr/^  set for all roles in database without: session_preload_libraries=pg_leakhunt$/m, 'the database whose sessions load the module is shown');
	like($shown, qr/^  \Q$directories{alive}\E: of a running server, process \d+: left$/m, 'the profiles of a running server are left');
}

# A server that runs keeps its profiles, its dump files only for as long as nobody
# names its data directory.
my $done = output_of('--yes', '-D', $gone->data_dir);
like($done, qr/^  \Q$directories{gone}\E, .*: removed$/m, 'with --yes the profiles of a server that is gone are removed');
like($done, qr/^  \Q$dumps{gone}\E, \d+ files: removed$/m, 'with --yes the dump files of a server that is gone are removed');
like($done, qr/^  \Q$dumps{gone}\E: has other files, which are left: notes\.txt $/m, 'files that are not ours are left, and told');
ok(!-e $directories{gone}, 'the directory of profiles is gone');
is_deeply([ glob("$dumps{gone}/*") ], ["$dumps{gone}/notes.txt"], 'files that are ours are gone from the dump directory');
is_deeply([ grep { !-e } $directories{alive}, "$directories{alive}/README", glob("$dumps{alive}/*.profile") ],
	[], 'a server that was not named has lost nothing');
output_of('--yes', '-D', $alive->data_dir);
ok(-e "$directories{alive}/README", 'a running server that is named keeps its profiles');
is(report_row($alive, session_pid($sessions{alive}), 'leaking_top')->{live_count} > 0, 1, 'a running server that is named goes on sampling');
is_deeply([ glob("$dumps{alive}/*") ], ["$dumps{alive}/notes.txt"], 'a running server that is named loses its dump files');

# What can't be told is left: the README is missing, of another server by now, or of
# another container.
my $copy = "$directories{alive}.9";
my $note = slurp_file("$directories{alive}/README");

# A directory of that README, and what the program says of it.
sub says_of
{
	my ($text) = @_;

	mkdir($copy, 0700) or die $!;
	append_to_file("$copy/README", $text) if defined $text;
	my ($line) = output_of() =~ /^  \Q$copy\E[:,] (.*)$/m;
	unlink "$copy/README";
	rmdir $copy or die $!;
	return $line;
}
like(says_of(undef), qr/^has no README that says whose it is: .*: left$/, 'a directory without a note is left');
like(says_of("postmaster: 1\n"), qr/^has no README that says whose it is: .*: left$/, 'a directory with half of a note is left');
like(says_of($note), qr/^of a running server, process \d+: left$/, 'a directory with the note of a running server is left');
like(says_of($note =~ s/^(pid_namespace: ).*/$1pid:[1]/mr), qr/^of a server in another container: left$/, 'a directory of another container is left');
like(says_of($note =~ s/^(postmaster_start: ).*/${1}1/mr), qr/: can be removed$/, 'a directory of a process that had the pid before can be removed');
symlink($directories{alive}, $copy) or die $!;
unlike(output_of(), qr/\Q$copy\E/, 'a symbolic link is no directory of ours');
unlink $copy;

# A directory that its server removes while the program looks at it does not become a file.
my $tools = "$ENV{TESTDATADIR}/tools";
chomp(my $flock = `command -v flock 2>/dev/null`);
mkdir $tools or die $!;
append_to_file("$tools/flock", qq{#!/bin/sh
case "\$* \$(readlink /proc/self/fd/9)" in *"$copy"*) rm -rf "$copy" ;; esac
exec "$flock" "\$\@"
});
chmod 0755, "$tools/flock" or die $!;
mkdir($copy, 0700) or die $!;
append_to_file("$copy/README", $note =~ s/^(postmaster_start: ).*/${1}1/mr);
{
	local $ENV{PATH} = "$tools:$ENV{PATH}";
	output_of();
}
ok(!-e $copy, 'nothing is made where a directory has just been removed');

# Errors say what is wrong.
for my $case (
	[ [ '-D', '/nowhere' ], 1, qr{^pg_leakhunt_remove: There is no /nowhere\.$} ],
	[ [ '-D', $alive->basedir ], 1, qr/is no data directory of PostgreSQL/ ],
	[ ['-D'], 2, qr/^Usage: pg_leakhunt_remove/m ],
	[ ['everything'], 2, qr/^Usage: pg_leakhunt_remove/m ])
{
	my ($arguments, $expected, $pattern) = @$case;
	my ($status, undef, $stderr) = run_program(@$arguments);

	is($status, $expected, "@$arguments: the status is that of an error");
	like($stderr, $pattern, "@$arguments: the message says what is wrong");
}
like(output_of('--help'), qr/^Usage: pg_leakhunt_remove/m, '--help prints the usage');

# A server that stops leaves no directory, as before.
$sessions{alive}->quit;
$alive->stop;
is_gone($directories{alive}, 'a server that stops takes its note along');
$sessions{gone}->{run}->kill_kill;

# what PostgreSQL itself shared goes when a server starts where one was killed
$gone->start;
$gone->stop;
done_testing();
