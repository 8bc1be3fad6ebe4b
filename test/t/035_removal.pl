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
		'and whose');
	is((stat($directories{ $node->name } . '/README'))[2] & 0777, 0600, 'for its user only');
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
kill 'KILL', $killed;
$gone->kill9;
wait_until(sub { output_of() =~ /^  \Q$directories{gone}\E, .*: can be removed$/m },
	'the directory of the server that is gone can be removed');
ok(-e "$directories{gone}/$killed", 'it has the profile of the process that was killed');

# It is shown, and nothing is done.
delete local $ENV{PGHOST};
my $shown = output_of('-D', $gone->data_dir);
like($shown, qr{^  \Q$directories{gone}\E, \d+ files, \d+ kB, of \Q@{[$gone->data_dir]}\E, port @{[$gone->port]}, which is not running: can be removed$}m,
	'profiles');
like($shown, qr{^  \Q$dumps{gone}\E, \d+ files: can be removed$}m, 'dump files');
like($shown, qr{^  \Q@{[$gone->data_dir]}\E/postgresql\.conf:\d+:shared_preload_libraries = 'pg_leakhunt'$}m, 'settings');
unlike($shown, qr/\Q$directories{alive}\E/, 'of this server only');
like($shown, qr/^  psql could not connect, so that none were looked at \(it may have to run as the server's user\): .+/m, 'no server is reached');
like($shown, qr/^Nothing was removed: --yes removes what can be\.$/m, 'and says so');
ok(-d $directories{gone} && -e "$dumps{gone}/$killed.17.tmp", 'nothing was removed');

# The databases are those of the server that psql reaches.
{
	local $ENV{PGHOST} = $alive->host;
	local $ENV{PGPORT} = $alive->port;
	my $hostile = q{it's "a" \\ $x};

	$alive->safe_psql('postgres', 'CREATE DATABASE without; CREATE DATABASE "it\'s ""a"" \\ $x"');
	run_tool('psql', '-Xq', '-d', q{dbname='it\\'s "a" \\\\ $x'}, '-c', 'CREATE EXTENSION pg_leakhunt');
	$alive->safe_psql('postgres', q{ALTER DATABASE without SET session_preload_libraries = 'pg_leakhunt'});
	$shown = output_of();
	like($shown, qr/^  postgres: DROP EXTENSION pg_leakhunt; there$/m, 'a database with the extension');
	like($shown, qr/^  \Q$hostile\E: DROP EXTENSION pg_leakhunt; there$/m, 'whatever its name');
	unlike($shown, qr/^  without: /m, 'and none without it');
	like($shown, qr/^  loaded by shared_preload_libraries = pg_leakhunt$/m, 'what loads the module');
	like($shown, qr/^  set for all roles in database without: session_preload_libraries=pg_leakhunt$/m, 'and for whom');
	like($shown, qr/^  \Q$directories{alive}\E: of a running server, process \d+: left$/m, 'a running server is left alone');
}

# A server that runs keeps its profiles, its dump files only for as long as nobody
# names its data directory.
my $done = output_of('--yes', '-D', $gone->data_dir);
like($done, qr/^  \Q$directories{gone}\E, .*: removed$/m, 'what is gone is removed');
like($done, qr/^  \Q$dumps{gone}\E, \d+ files: removed$/m, 'its dump files, too');
like($done, qr/^  \Q$dumps{gone}\E: has other files, which are left: notes\.txt $/m, 'but for what is not ours');
ok(!-e $directories{gone}, 'the directory is gone');
is_deeply([ glob("$dumps{gone}/*") ], ["$dumps{gone}/notes.txt"], 'and the files are');
is_deeply([ grep { !-e } $directories{alive}, "$directories{alive}/README", glob("$dumps{alive}/*.heap") ],
	[], 'the other server has everything');
output_of('--yes', '-D', $alive->data_dir);
ok(-e "$directories{alive}/README", 'also if it is named');
is(report_row($alive, session_pid($sessions{alive}), 'leaking_top')->{live_count} > 0, 1, 'and works');
is_deeply([ glob("$dumps{alive}/*") ], ["$dumps{alive}/notes.txt"], 'its dump files were asked for');

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
like(says_of(undef), qr/^has no README that says whose it is: .*: left$/, 'a directory without a note');
like(says_of("postmaster: 1\n"), qr/^has no README that says whose it is: .*: left$/, 'and with half of one');
like(says_of($note), qr/^of a running server, process \d+: left$/, 'one with the note of a running server');
like(says_of($note =~ s/^(pid_namespace: ).*/$1pid:[1]/mr), qr/^of a server in another container: left$/, 'of another container');
like(says_of($note =~ s/^(postmaster_start: ).*/${1}1/mr), qr/: can be removed$/, 'of a process that has had the pid');
symlink($directories{alive}, $copy) or die $!;
unlike(output_of(), qr/\Q$copy\E/, 'a symbolic link is none');
unlink $copy;

# Errors say what is wrong.
for my $case (
	[ [ '-D', '/nowhere' ], 1, qr{^pg_leakhunt_remove: There is no /nowhere\.$} ],
	[ [ '-D', $alive->basedir ], 1, qr/is no data directory of PostgreSQL/ ],
	[ ['-D'], 2, qr/^Usage: pg_leakhunt_remove/m ],
	[ ['everything'], 2, qr/^Usage: pg_leakhunt_remove/m ])
{
	my ($arguments, $expected, $pattern) = @$case;
	my ($status, undef, $stderr) = run_program(@$arguments);

	is($status, $expected, "@$arguments: status");
	like($stderr, $pattern, "@$arguments: message");
}
like(output_of('--help'), qr/^Usage: pg_leakhunt_remove/m, 'help');

# A server that stops leaves no directory, as before.
$sessions{alive}->quit;
$alive->stop;
is_gone($directories{alive}, 'a server that stops takes its note along');
$sessions{gone}->{run}->kill_kill;
done_testing();
