# pg_leakhunt_look, of processes of a server that has not loaded the module: what it says of their
# memory is true, to the byte, and they go on as if nothing had been.  psql can't start programs
# that look at another session.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use JSON::PP;
use LeakHunt;
use List::Util qw(sum0);
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# How often a session that works is looked at.
my $looks = $ENV{LOOKS} || rounds(50);

my $node = PostgreSQL::Test::Cluster->new('plain');
$node->init;
$node->start;
define_fixture($node, 'leaker');

my $program = $node->config_data('--bindir') . '/pg_leakhunt_look';

# What the program prints with these arguments, its errors, and its exit status.
sub look
{
	my (@arguments) = @_;
	my ($output, $errors) = ('', '');

	IPC::Run::run([ $program, @arguments ], '>', \$output, '2>', \$errors);
	return ($output, $errors, $? >> 8);
}

# The same as data, of a process that can be looked at.
sub look_at
{
	my ($pid, @arguments) = @_;
	my ($output, $errors, $status) = look('--format', 'json', @arguments, $pid);

	die "$pid: $errors" if $status != 0;
	return decode_json($output);
}

sub session
{
	my $session = $node->background_psql('postgres');

	return ($session, session_pid($session));
}

# What is lost in contexts of a name: chunks and bytes.
sub lost_in
{
	my ($look, $list, $context, $kind) = @_;
	my @rows = grep { $_->{context} eq $context && $_->{kind} =~ /^$kind/ } @{ $look->{process}{$list} };

	return (sum0(map { $_->{chunks} } @rows), sum0(map { $_->{bytes} } @rows));
}

# Is that what each session loses?  From 17 on, the buffer of the client's first packet; libraries
# lose a few bytes of malloc's.
sub is_known
{
	my ($row) = @_;

	return $row->{bytes} <= 1000 if $row->{context} eq '[malloc]';
	return $node->pg_version >= 17 && $row->{context} eq 'TopMemoryContext' && $row->{chunks} == 1 && $row->{bytes} <= 256;
}

# Each planted leak is lost as a whole, for good or until its context is reset.
my @leaks = (
	[ 'leak_top(200, 3000)', 'lost', 'TopMemoryContext', '256 bytes', 3000, 256 ],
	[ 'leak_cache(2500, 300)', 'lost', 'CacheMemoryContext', '4096 bytes', 300, 4096 ],
	[ 'leak_generation(200, 3000)', 'lost_until_reset', 'leaker generation', '200 bytes', 3000, 200 ],
	[ 'leak_slab(3000)', 'lost_until_reset', 'leaker slab', '64 bytes', 3000, 64 ],
	[ 'leak_child(200, 3000)', 'lost_until_reset', 'leaker child', '256 bytes', 3000, 256 ],
	[ 'leak_contexts(200, 3000)', 'lost', 'leaker leaked context', '256 bytes', 3000, 256 ],
	[ 'leak_empty_contexts(3000)', 'lost', 'leaker empty context', 'memory context', 3000, 1024 ],
	[ 'leak_ring(200, 3000)', 'lost', 'TopMemoryContext', '256 bytes', 3000, 256 ]);
my ($session, $pid) = session();
for (@leaks)
{
	my ($call, $list, $context, $kind, $count, $bytes) = @$_;
	my @before = lost_in(look_at($pid), $list, $context, $kind);

	$session->query_safe("SELECT $call");
	my @after = lost_in(look_at($pid), $list, $context, $kind);
	# old addresses in memory that nobody uses may hold some of them
	my $lost = $after[0] - $before[0];
	ok($lost <= $count && $lost >= $count - ($node->pg_version >= 18 ? 10 : 1), "$call is lost, each chunk of it") || diag("$lost of $count");
	is($after[1] - $before[1], $lost * $bytes, "$call is lost, each byte of it");
}
my $look = look_at($pid);
is($look->{process}{closed_contexts}, 0, 'all contexts are what they should be');
isnt($look->{process}{malloc_bytes}, undef, 'and so is malloc');
cmp_ok($look->{process}{stopped_us}, '>', 0, 'it is told how long the process stood still');
like($look->{text}, qr/^Nothing points to .* of its memory: no code can use it/m, 'what is lost is said');
like($look->{text}, qr/^\S+ \S+: \d+ chunks in "CacheMemoryContext", each of 4096 bytes/m, 'and its kind');
like($look->{text}, qr/^\d+ bytes: others\.$/m, 'and how little is left');
$session->quit;

# What can be reached has a holder, and statistics are those of the server itself.
($session, $pid) = session();
$session->query_safe('SELECT hold_in_list(200, 3000)');
$session->query_safe('SELECT hold_in_table(3000)');
$session->query_safe("PREPARE with_literal AS SELECT 'a secret of ' || count(*) FROM pg_class");
$session->query_safe("EXECUTE with_literal");
my $offset = -s $node->logfile;
$node->safe_psql('postgres', "SELECT pg_log_backend_memory_contexts($pid)");
$node->wait_for_log(qr/LOG:  Grand total: .*\n/, $offset);
my ($bytes, $free) = slurp_file($node->logfile, $offset) =~ /LOG:  Grand total: (\d+) bytes in \d+ blocks; (\d+) free/;
$look = look_at($pid);
my %held = map { $_->{holder} => $_->{bytes} } @{ $look->{process}{holders} };
# (old addresses may be found first)
is_near($held{'the variable held_list of leaker.so'}, ($node->pg_version >= 17 ? 20 : 2) * 256, 3000 * 256, 'a list has its variable');
ok((grep { /^the variable held_table of leaker\.so, the hash table "leaker sessions"$/ } keys %held),
	'a hash table has its name');
is(scalar(grep { $_->{bytes} > 1000 } @{ $look->{process}{lost} }), 0, 'nothing of that is lost');
is($look->{statistics}[0]{bytes}, $bytes, 'contexts have what the server says');
is_near($look->{statistics}[0]{free_bytes}, 1000, $free, 'and as much of it is free');
is($look->{statistics}[0]{grand_total_bytes}, $look->{statistics}[0]{bytes}, 'their sum is the grand total');
like($look->{text}, qr/Process $pid had/, 'they are told in the words of a log');
cmp_ok($look->{process}{private_bytes}, '>', $look->{statistics}[0]{bytes} / 2, 'the kernel tells more');

# Nothing that belongs to users is shown if that is not wanted.
my ($text) = look($pid);
unlike($text, qr/pg_log_backend_memory_contexts/, 'it is not told to ask a server');
like($text, qr/^It stood still for [0-9.]+ ms/m, 'a text is what one gets');
my ($page) = look('--format', 'html', $pid);
like($page, qr{<h1>What a process has in its memory</h1>}, 'a page has its title');
unlike((look('--redact', '--format', 'json', $pid))[0], qr/a secret of/, 'with --redact, literals are not shown');
my $redacted = look_at($pid, '--redact');
is((grep { defined $_->{content} } @{ $redacted->{process}{lost} }), 0, 'nor contents of chunks');

# Without a stop, it is told what that means.
$look = look_at($pid, '--no-stop');
like($look->{text}, qr/^It was not stopped while its memory was copied/m, 'without a stop, that is said');
is($look->{process}{stopped_us}, undef, 'and no time is told');
is($session->query_safe('SELECT 1'), '1', 'the session answers as before');
$session->quit;

# What was reserved and never touched is not read.
($session, $pid) = session();
my $copied = look_at($pid)->{process}{copied_bytes};
$session->query_safe('SELECT leak_top(500000000, 1)');
$look = look_at($pid);
cmp_ok($look->{process}{copied_bytes} - $copied, '<', 5_000_000, 'memory without content is not read');
cmp_ok($look->{statistics}[0]{bytes}, '>=', 500_000_000, 'and is counted all the same');
$session->quit;

# A process in the middle of statements is never harmed, nor is anything called lost that is not.
($session, $pid) = session();
$session->query_safe('CREATE TABLE looked_at (id int PRIMARY KEY, text text)');
$session->query_until(qr/started/, q{
	\echo started
	DO $$
	BEGIN
		FOR i IN 1 .. 1000000000 LOOP
			INSERT INTO looked_at VALUES (i % 100, repeat('x', i % 5000))
				ON CONFLICT (id) DO UPDATE SET text = excluded.text || 'y';
			PERFORM sum(length(text)) FROM looked_at WHERE id > 50;
			BEGIN
				PERFORM 1 / (i % 7);
			EXCEPTION WHEN division_by_zero THEN
				NULL;
			END;
			IF i % 1000 = 0 THEN
				TRUNCATE looked_at;
			END IF;
			EXIT WHEN i % 100 = 0 AND EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory');
		END LOOP;
	END $$;
	SELECT 'went ' || 'on';
});
my %problems;
for (1 .. $looks)
{
	$look = eval { look_at($pid) };
	$problems{ $@ =~ s/\d+/N/gr }++ if !$look;
	next if !$look;
	$problems{"closed contexts"}++ if $look->{process}{closed_contexts} > 0;
	$problems{"lost: $_->{kind} in $_->{context}"}++
	  for grep { !is_known($_) } @{ $look->{process}{lost} };
}
is_deeply(\%problems, {}, "$looks looks at a session that works: nothing is lost, and nothing is closed");
is($node->safe_psql('postgres', "SELECT state FROM pg_stat_activity WHERE pid = $pid"), 'active', 'the session works on');
my $lock = $node->background_psql('postgres');
$lock->query_safe('SELECT pg_advisory_lock(4711)');
$session->wait_connect if 0;
$session->query_until(qr/went on/, '');
pass('and ends its statement');
$lock->quit;
is($session->query_safe('SELECT 2'), '2', 'and answers');
$session->quit;

# One whose library has threads that work stands still as a whole, and goes on as a whole.
define_fixture($node, 'malloc_users');
($session, $pid) = session();
$session->query_until(qr/started/, "\\echo started\nSELECT 'exchanged ' || exchange_in_threads(3, 5000000);\n");
my $with_threads;
for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
{
	$with_threads = look_at($pid);
	last if $with_threads->{text} =~ /has 4 threads/;
	select(undef, undef, undef, 0.1);
}
like($with_threads->{text}, qr/The process has 4 threads, /, 'of a process with threads that is said');
is($with_threads->{process}{malloc_bytes}, undef, 'and nothing of its malloc');
is($with_threads->{process}{closed_contexts}, 0, 'but its contexts are as they should be');
is((grep { $_->{context} eq '[malloc]' } @{ $with_threads->{process}{lost} }), 0, 'and no block of malloc is called lost');
$session->query_until(qr/exchanged true/, '');
is($session->query_safe('SELECT 3'), '3', 'its threads have gone on, and it answers');
$session->quit;

# All processes of a server can be looked at.
my $postmaster = $node->safe_psql('postgres', q{SELECT pg_read_file('postmaster.pid', 0, 20)}) =~ s/\s.*//sr;
for my $process (split /\n/, $node->safe_psql('postgres', q{SELECT backend_type || '|' || pid FROM pg_stat_activity WHERE backend_type <> 'client backend'}), "postmaster|$postmaster")
{
	my ($type, $id) = split /\|/, $process;

	is(look_at($id)->{process}{closed_contexts}, 0, "the $type can be looked at");
}

# What can't be looked at is refused, with what to do.
sub is_refused
{
	my ($id, $message, $name) = @_;
	my ($output, $errors, $status) = look($id);

	is($status, 1, "$name is refused");
	is($output, '', "$name: nothing else is said");
	like($errors, qr/^pg_leakhunt_look: $message\nHINT:  \S.*\.$/, "$name: that is said, with what to do");
}

my $folder = PostgreSQL::Test::Utils::tempdir();

# A program in the background.
sub start_program
{
	my (@command) = @_;
	my $child = fork // die $!;

	if ($child == 0)
	{
		exec { $command[0] } @command or POSIX::_exit(1);
	}
	select(undef, undef, undef, 0.3);
	return $child;
}

sub end_program
{
	my ($child) = @_;

	kill 'KILL', $child;
	waitpid $child, 0;
}

my $gone = start_program('true');
is_refused($gone, "process $gone has no program", 'a process that has ended');
waitpid $gone, 0;
is_refused($gone, "there is no process $gone", 'a process that is not there');
is_refused($$, "process $$ is not one of PostgreSQL's", 'another program');

# of a program that may not be read, even its own user may not look at
system_or_bail('cp', (grep { -x } '/bin/sleep', '/usr/bin/sleep')[0], "$folder/sleep");
chmod 0111, "$folder/sleep";
my $hidden = start_program("$folder/sleep", '1000');
is_refused($hidden, "permission denied to look at process $hidden", 'a process that is not ours');
end_program($hidden);

# of what claims to be a server, nothing is trusted
sub start_false_server
{
	return start_program($ENV{LEAKER} =~ s/leaker$/false_server_$_[0]/r, $_[1]);
}
for (
	[ '15', 'none', 'process %d has no memory contexts yet', 'a server that begins' ],
	[ '15', 'torn', 'the memory contexts of process %d are not what they are in PostgreSQL 15.0', 'a damaged process' ],
	[ '12', 'checked', 'PostgreSQL 12.0 is not known', 'an old release' ])
{
	my ($version, $contexts, $message, $name) = @$_;
	my $server = start_false_server($version, $contexts);

	is_refused($server, sprintf($message, $server), $name);
	end_program($server);
}
my $checked = start_false_server('15', 'checked');
$look = look_at($checked);
like($look->{text}, qr/^Not decided: what is lost\. No memory context is as PostgreSQL 15\.0 lays it out/m,
	'of a server with assertions, it is not known what is lost');
is($look->{process}{lost_bytes}, 0, 'and nothing is called so');
is($look->{statistics}[0]{bytes}, 1024, 'but what its contexts have is told');
end_program($checked);

# A program of 32 bits that waits, where the kernel runs such: pause() again and again.
{
	my $code = "\xB8\x1D\x00\x00\x00\xCD\x80\xEB\xF7";
	my $elf = pack('a4CCCx9vvVVVVVvvvvvv', "\x7FELF", 1, 1, 1, 2, 3, 1, 0x8048054, 52, 0, 0, 52, 32, 1, 0, 0, 0)
	  . pack('V8', 1, 0, 0x8048000, 0x8048000, 84 + length $code, 84 + length $code, 5, 4096) . $code;

	open my $file, '>:raw', "$folder/small" or die $!;
	print $file $elf;
	close $file;
	chmod 0755, "$folder/small";
	my $small = start_program("$folder/small");
	if (waitpid($small, POSIX::WNOHANG()) == 0)
	{
		is_refused($small, "process $small is a 32-bit program", 'a program of 32 bits');
		end_program($small);
	}
	else
	{
		note('This kernel runs no programs of 32 bits.');
	}
}

is((look('0'))[2], 2, 'what is no id is an error of usage');
is((look('12', '13'))[2], 2, 'and so are two');

$node->stop;
done_testing;
