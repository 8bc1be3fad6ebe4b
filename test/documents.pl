# Runs what README, the pages of doc/ and monitoring/ say, as root of a fresh
# Debian; test/documents calls it there, with a copy of the tree in /tmp/pg_leakhunt.
#
# Blocks of a document are run in its order.  How a block is run:
#
#   lines that begin with "$ ", "# " or "=> " are commands of a DBA, who may use sudo, of
#   root, and of the DBA in psql; the lines below a command are what it prints
#   ```sh, ```sql        all of it are commands, of the DBA
#   ```make              the last lines of the Makefile of the extension that a CI job tests
#   ```yaml              must be YAML; "- run:" in it are commands of a CI job's user
#   NAME=VALUE lines     an environment, in which a program starts without a word
#   name = value lines   settings: they are added to postgresql.conf, and the server restarts
#   run `COMMAND;`       in a sentence: a command of the DBA in psql
#   `LINE` in `/etc/FILE`    in a sentence: the line is put there, and the server restarts
#
# A comment above a block, which readers do not see, says otherwise:
#
#   <!-- run: last -->           its first line is a command that is run after all other
#                                blocks, and the rest is what it prints
#   <!-- run: printed by last -->    the block is more of what that prints
#   <!-- run: into FILE -->      the block becomes that file
#   <!-- run: output of VIEW --> the columns that the block shows are the view's
#   <!-- run: printed -->        it is what the statement before printed: of each line the
#                                words up to the first number are compared
#   <!-- run: no, REASON -->     nothing here can run it
#
# A block that none of these fit is a failure.  What a command prints is compared with
# what the document shows by its columns, or by its words without numbers.  %instead is
# what is run in the place of what a root does not have.
#
# With --first-answer, README alone is followed, from its first command to the first query,
# which is asked again until it names the session that leaks; the time of each step is printed
# (test/first_answer).
#
# It needs no module of Perl that a minimal Debian lacks.
use strict;
use warnings;

use IO::Socket::INET;
use POSIX qw(_exit sysconf _SC_CLK_TCK);

my $source = '/tmp/pg_leakhunt';
my $work = '/tmp/documents';
my @documents = qw(README.md CONTRIBUTING.md doc/container.md doc/leak-or-cache.md doc/walkthrough.md doc/pools.md doc/troubleshooting.md doc/names.md doc/attach.md doc/ci.md
  doc/fleet.md doc/limits.md doc/malloc.md doc/page.md doc/plan.md doc/proof.md doc/packages.md monitoring/README.md packaging/cloudnative-pg/README.md);
my $run_count = 0;
my $failures = 0;
my $makefile = "PGXS := \$(shell pg_config --pgxs)\ninclude \$(PGXS)";
my ($version, $growing_pid, $collector_pid, $in_job, @dumps);

# What is run instead: of the forge, other hosts, systemd as the first process, example
# names of processes and files, and commands that never end or have tests of their own.
my @instead = (
	[ qr/git clone \S+ pg_leakhunt/ => sub { "cp -r $source pg_leakhunt" } ],
	[ qr{https://(pyroscope|profiles)\.example\.com} => sub { 'http://127.0.0.1:4040' } ],
	[ qr{/postgresql/15/} => sub { "/postgresql/$version/" } ],
	[ qr/\b(?:13292|18364|28621|15825)\b/ => sub { growing_process() } ],
	[ qr/\b15277\.1\.exit\b|\b4711\.1\.growth\b/ => sub { dump_name(0) } ],
	[ qr/\b4711\.9\.growth\b/ => sub { dump_name(1) } ],
	[ qr/\\watch \d+/ => sub { ';' } ],
	# an option of EXPLAIN from 18 on
	[ qr/^EXPLAIN \(ANALYZE, LEAKHUNT\) SELECT \.\.\.;/ => sub { 'EXPLAIN (ANALYZE' . ($version >= 18 ? ', LEAKHUNT' : '') . ') SELECT 1;' } ],
	# it is run where its output is shown
	[ qr/^make demo +#/ => sub { 'make -n demo #' } ],
	[ qr/^make (test\S*|bench|dist|prove_installcheck|installcheck)\b/ => sub { "make -n $1" } ],
	[ qr{^(test/tap|test/incidents/run) } => sub { "bash -n $1 " } ],
	# it takes a control group and many minutes
	[ qr{^(bench/capacity/run) } => sub { "bash -n $1 " } ],
	[ qr{^(test/trial) NAME +# ([\w, ]+)} => sub { "ls $1 " . join(' ', map { "$1s/$_.pl" } split /, /, $2) . ' #' } ],
	# Go takes 500 MB; 018_pictures.pl runs it
	[ qr/^go tool pprof -top .* (\S+)$/ => sub { "test -s $1" } ],
	[ qr/^(\S*systemctl) enable --now (\S+)/ => sub { "$1 enable $2" } ],
);

# What has to be there before a command is run, and what is done when it was.
my @around = (
	[ qr/pg_leakhunt_attach/ => sub { unload() }, sub { load() } ],
	[ qr/systemctl enable --now (\S+)/ => sub { }, sub { start_unit($1) } ],
	[ qr/pg_leakhunt_suspects|FROM pg_leakhunt\b/ => sub { growing_process() }, sub { } ],
	[ qr/^top / => sub { do_quietly("apt-get install -y -q --no-install-recommends procps") }, sub { } ],
	[ qr/my_function\(42\)/ => sub { make_function() }, sub { } ],
	[ qr/remember\(/ => sub { make_remember() }, sub { } ],
	[ qr/ALTER ROLE reporting/ => sub { make_reporting() }, sub { } ],
	[ qr/ALTER DATABASE shop/ => sub { make_shop() }, sub { } ],
	[ qr/FROM big a/ => sub { make_big() }, sub { } ],
	[ qr/example\.com/ => sub { start_collector() }, sub { } ],
	[ qr/^make demo$/ => sub { chdir_to('dba', clone()); remember_server() }, sub { find_server_unchanged() } ],
);

# Where a command stands, and something about it.
sub say_of
{
	my ($command, $what) = @_;
	my ($first) = $command->{text} =~ /^(.*)/;

	print "$command->{file}:$command->{line}: $first: $what\n";
}

sub say_failure
{
	my ($command, $why) = @_;

	$failures++;
	$command->{text} =~ s/\n(?=.)/\n    /g;
	$why =~ s/\s+\z//;
	$why =~ s/^/    | /mg;
	print "FAILED $command->{file}:$command->{line}: $command->{who}: $command->{text}\n$why\n";
}

sub read_file
{
	my ($file) = @_;

	open my $in, '<', $file or return '';
	local $/;
	return scalar <$in> // '';
}

sub write_file
{
	my ($file, $text, $mode) = @_;

	open my $out, $mode // '>', $file or die "$file: $!";
	print $out $text;
	close $out or die "$file: $!";
}

# Run a command of the script's own, as root.
sub do_quietly
{
	my ($command) = @_;

	my $printed = `{ $command\n} 2>&1 </dev/null`;
	die "The script's own command failed: $command\n$printed" if $? != 0;
	return $printed;
}

# What the cluster answers to a question of the script's own.
sub ask
{
	my ($sql) = @_;

	write_file("$work/question", $sql);
	my $answer = do_quietly("setpriv --reuid postgres --regid postgres --init-groups psql -XAtq -d postgres -v ON_ERROR_STOP=1 -f $work/question");
	chomp $answer;
	return $answer;
}

#
# Reading a document
#

# The commands of a document, each with its file, line, kind, user, and what it prints.
sub commands_of
{
	my ($file) = @_;
	my (@commands, @last);
	my @lines = split /\n/, read_file("$source/$file");
	my $marker = '';

	for (my $i = 0; $i < @lines; $i++)
	{
		if ($lines[$i] =~ /^\s*<!-- run: (.*?) -->$/)
		{
			$marker = $1;
			next;
		}
		if ($lines[$i] !~ /^(\s*)```(\w*)$/)
		{
			push @commands, map { { file => $file, line => $i + 1, kind => 'line', who => 'put into ' . $_->[1], text => $_->[0], into => $_->[1] } }
			  lines_for_files($lines[$i]);
			push @commands, map { { file => $file, line => $i + 1, kind => 'sql', who => 'dba', text => $_, shows => '' } }
			  $lines[$i] =~ /\brun `([A-Z][^`]*;)`/g;
			$marker = '' if $lines[$i] =~ /\S/;
			next;
		}
		my ($first, $language, @block) = ($i + 2, $2);
		push @block, $lines[$i] while ++$i < @lines && $lines[$i] !~ /^\s*```$/;
		if ($marker eq 'last' && $block[0] =~ /^\$ (\S.*)$/)
		{
			push @last, { file => $file, line => $first, kind => 'sh', who => 'dba', text => $1, last => 1, shows => join "\n", @block[ 1 .. $#block ] };
		}
		elsif ($marker eq 'printed by last' && @last)
		{
			$last[-1]{shows} .= join "\n", '', @block;
		}
		else
		{
			push @commands, commands_of_block($file, $first, $language, $marker, @block);
		}
		$marker = '';
	}
	return (@commands, @last);
}

# Sentences that say what line to put into what file of /etc.
sub lines_for_files
{
	my ($sentence) = @_;
	my @found;

	push @found, [ $1, $2 ] while $sentence =~ /`([^`]+)` in `(\/etc\/[^`]+)`/g;
	return @found;
}

sub commands_of_block
{
	my ($file, $line, $language, $marker, @lines) = @_;
	my $text = join "\n", @lines;
	my %block = (file => $file, line => $line, who => 'dba', text => $text);

	return { %block, kind => 'no' } if $marker =~ /^no, \S/;
	return { %block, kind => 'file', who => "put into $1", into => $1 } if $marker =~ /^into (\S+)$/;
	return { %block, kind => 'output', who => "output of $1", view => $1 } if $marker =~ /^output of (\S+)$/;
	return { %block, kind => 'printed', who => 'printed by the statement before', shows => $text } if $marker eq 'printed';
	return { %block, kind => 'unknown', who => "marker \"$marker\"" } if $marker ne '';
	return yaml_commands(%block) if $language eq 'yaml';
	return { %block, kind => 'makefile', who => 'a Makefile' } if $language eq 'make';
	return prompted(\%block, @lines) if grep { /^(\$|#|=>) \S/ } @lines and not ($lines[0] =~ /^# \//);
	return shell_commands(\%block, @lines) if $language =~ /^(sh|bash)$/;
	return statements(\%block, @lines) if $language eq 'sql' or $text =~ /^[A-Z]+ [A-Z]+\b.*;/;
	return { %block, kind => 'environment', who => 'environment' } unless grep { !/^\w+=\S*$/ } @lines;
	return { %block, kind => 'settings', who => 'postgresql.conf' } unless grep { !/^[a-z_.]+ = / } @lines;
	return shell_commands({ %block, who => 'root' }, @lines) if $lines[0] =~ /^(apt-get|make)\b/;
	return { %block, kind => 'unknown', who => 'a block that nobody knows how to run' };
}

# Commands behind prompts, and the lines below them that show what they print.
sub prompted
{
	my ($block, @lines) = @_;
	my %who = ('$' => 'dba', '#' => 'root', '=>' => 'dba');
	my (@commands, $open);

	for my $i (0 .. $#lines)
	{
		if ($lines[$i] =~ /^(\$|#|=>) (\S.*)$/)
		{
			push @commands,
			  { %$block, line => $block->{line} + $i, who => $who{$1}, kind => $1 eq '=>' ? 'sql' : 'sh', text => $2, shows => '' };
			$open = $1 eq '=>' && $2 !~ /;|\\watch/;
		}
		elsif ($open)
		{
			$commands[-1]{text} .= "\n$lines[$i]";
			$open = $lines[$i] !~ /;|\\watch/;
		}
		elsif (@commands)
		{
			$commands[-1]{shows} .= "$lines[$i]\n";
		}
	}
	return @commands;
}

# Statements, each of which ends at the end of a line.
sub statements
{
	my ($block, @lines) = @_;
	my (@commands, $open);

	for my $i (0 .. $#lines)
	{
		push @commands, { %$block, line => $block->{line} + $i, kind => 'sql', text => '', shows => '' } unless $open;
		$commands[-1]{text} .= "$lines[$i]\n";
		$open = $lines[$i] !~ /;\s*(?:--.*)?$/;
	}
	return @commands;
}

# Commands of a shell: as many lines each as the shell takes for a whole.
sub shell_commands
{
	my ($block, @lines) = @_;
	my (@commands, $text, $first);

	for my $i (0 .. $#lines)
	{
		$first = $i unless defined $text;
		$text = defined $text ? "$text\n$lines[$i]" : $lines[$i];
		next if $text =~ /\\$/;
		write_file("$work/part", "$text\n");
		next if system("bash -n $work/part >$work/part.errors 2>&1") != 0 or -s "$work/part.errors";
		push @commands, { %$block, line => $block->{line} + $first, kind => 'sh', text => $text, shows => '' } if $text =~ /^\s*[^\s#]/;
		undef $text;
	}
	push @commands, { %$block, kind => 'unknown', who => 'an unfinished command' } if defined $text;
	return @commands;
}

# YAML, and the commands of a job of GitHub Actions in it.
sub yaml_commands
{
	my %block = @_;
	my @lines = split /\n/, $block{text};
	my @commands = ({ %block, kind => 'yaml', who => 'YAML' });

	for (my $i = 0; $i < @lines; $i++)
	{
		push @commands, shell_commands({ %block, who => 'ci', line => $block{line} + $i }, $1) if $lines[$i] =~ /^\s*- run: ([^|].*)$/;
		next unless $lines[$i] =~ /^(\s*)- run: \|$/;
		my ($first, $indent, @job) = ($i + 1, length($1) + 4);
		push @job, $lines[$i] while ++$i < @lines && $lines[$i] =~ /^ {$indent}/;
		$i--;
		s/^ {$indent}// for @job;
		push @commands, shell_commands({ %block, who => 'ci', line => $block{line} + $first }, @job);
	}
	return @commands;
}

#
# Running commands
#

# Where a user's shell is: its folder and exported variables outlast a command.
sub chdir_to
{
	my ($who, $folder) = @_;

	write_file("$work/$who/folder", "$folder\n");
}

sub make_users
{
	for my $who ('dba', 'ci')
	{
		do_quietly("useradd -m -s /bin/bash $who && install -d -o $who $work/$who");
		write_file("/etc/sudoers.d/$who", "$who ALL=(ALL) NOPASSWD: ALL\n");
		chdir_to($who, "/home/$who");
	}
	write_file('/etc/sudoers.d/packages', "Defaults env_keep += DEBIAN_FRONTEND\n");
	do_quietly("install -d $work/root && chown -R dba: $source");
	chdir_to('root', $source);
	write_file("$work/$_/variables", '') for qw(root dba ci);
	do_quietly("chown ci: $work/ci/*; chown dba: $work/dba/*");
}

# Run a command of a user's shell.  Returns whether it ended well, and what it printed.
sub run_shell
{
	my ($who, $text) = @_;
	my $as = $who eq 'root' ? '' : "setpriv --reuid $who --regid $who --init-groups";
	my $home = $who eq 'root' ? '/root' : "/home/$who";

	write_file("$work/command", "$text\n");
	write_file("$work/shell", <<"SHELL");
cd "\$(cat $work/$who/folder)"
. $work/$who/variables
set -o pipefail
. $work/command </dev/null
status=\$?
pwd >$work/$who/folder
export -p >$work/$who/variables
exit \$status
SHELL
	my $status = system("timeout -k 5 600 $as env -i HOME=$home USER=$who PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "
		  . "LC_ALL=C DEBIAN_FRONTEND=noninteractive MAKEFLAGS=-j2 PGDATABASE=postgres bash $work/shell >$work/printed 2>&1 </dev/null");
	return ($status == 0, read_file("$work/printed"));
}

sub with_replacements
{
	my ($text) = @_;

	for (@instead)
	{
		my ($pattern, $by) = @$_;
		$text =~ s/$pattern/$by->()/ge;
	}
	return $text;
}

sub run_command
{
	my ($command) = @_;
	my $kind = $command->{kind};
	my $start = time;
	end_job() if $in_job && $command->{who} ne 'ci';
	# a job brings its own
	my @hooks = grep { $command->{who} !~ /^(?:ci|YAML)$/ && $command->{text} =~ $_->[0] } @around;

	$run_count++;
	return if $kind eq 'no';
	return say_failure($command, 'No way to run it is known: see the head of test/documents.pl.') if $kind eq 'unknown';
	my $worked = eval {
		$_->[1]->() for @hooks;
		my $text = with_replacements($command->{text});
		{
			no strict 'refs';
			&{"run_$kind"}($command, $text);
		}
		for (@hooks)
		{
			$command->{text} =~ $_->[0];
			$_->[2]->();
		}
		1;
	};
	say_failure($command, $@) unless $worked;
	my $seconds = time - $start;
	say_of($command, "$seconds seconds") if $seconds >= 10;
}

sub run_sh
{
	my ($command, $text) = @_;

	return run_lasting($command, $text) if $text =~ /export serve|--every=/;
	$text =~ s/^(curl .*)$/sleep 2; $1/;
	my ($ok, $printed) = run_shell($command->{who}, $text);
	return say_failure($command, $printed) unless $ok;
	my ($file) = $text =~ /> ([\w.]+)$/;
	return say_failure($command, "$file is empty.") if $file && $text !~ /\|/ && !-s "/home/dba/$file" && !-s folder_of($command->{who}) . "/$file";
	compare($command, $printed) if $command->{shows} =~ /\S/;
	find_server() if $text =~ /apt-get install|service postgresql/;
}

sub folder_of
{
	my ($who) = @_;
	my $folder = read_file("$work/$who/folder");

	chomp $folder;
	return $folder;
}

# A program that runs until it is ended: it must be there after some seconds.
sub run_lasting
{
	my ($command, $text) = @_;
	my ($ok, $printed) = run_shell($command->{who}, "timeout 6 $text");

	# timeout says 124 of what it has ended
	say_failure($command, $printed) if $ok or read_file("$work/printed") =~ /error|Traceback|not found|No such/i;
}

# What the last statement printed.
my $printed_before = '';

sub run_sql
{
	my ($command, $text) = @_;

	write_file("$work/statement", "$text\n");
	chmod 0644, "$work/statement";
	my ($ok, $printed) = run_shell('dba', "psql -X -v ON_ERROR_STOP=1 -f $work/statement");
	return say_failure($command, $printed) unless $ok;
	$printed_before = $printed;
	compare($command, $printed) if ($command->{shows} // '') =~ /\S/;
}

# What a statement has printed, as the document shows it below.
sub run_printed
{
	my ($command) = @_;

	compare($command, $printed_before);
}

sub run_yaml
{
	my ($command, $text) = @_;

	do_quietly('apt-get install -y -q --no-install-recommends python3-yaml') unless -e '/usr/lib/python3/dist-packages/yaml';
	write_file("$work/yaml", "$text\n");
	my $printed = `python3 -c 'import sys, yaml; yaml.safe_load(open(sys.argv[1]))' $work/yaml 2>&1`;
	say_failure($command, $printed) if $? != 0;
	start_job() if $text =~ /- run:/;
}

# The lines for a Makefile of an extension, which a job that follows has.
sub run_makefile
{
	my ($command, $text) = @_;

	$makefile = $text;
}

sub run_environment
{
	my ($command, $text) = @_;

	do_quietly('apt-get install -y -q --no-install-recommends libjemalloc2') if $text =~ /jemalloc/;
	my $printed = join '', map { `env '$_' true 2>&1` } split /\n/, $text;
	say_failure($command, $printed) if $printed ne '';
}

sub run_settings
{
	my ($command, $text) = @_;

	write_file(ask('SHOW config_file'), "$text\n", '>>');
	restart();
}

sub run_line
{
	my ($command, $text) = @_;
	my $file = with_replacements($command->{into});

	return say_failure($command, "There is no $file.") unless -e $file;
	write_file($file, "$text\n", '>>');
	restart();
}

sub run_file
{
	my ($command, $text) = @_;

	write_file(with_replacements($command->{into}), "$text\n");
}

# Columns of a view, of which a block shows some.
sub run_output
{
	my ($command, $text) = @_;
	my %known = map { $_ => 1 } split /\n/, ask("SELECT attname FROM pg_attribute WHERE attrelid = '$command->{view}'::regclass");
	my ($header) = $text =~ /^(.*\S.*)$/m;

	for (columns($header))
	{
		say_failure($command, "$command->{view} has no column $_.") unless $known{$_};
	}
}

#
# What is printed, and what the document shows
#

sub columns
{
	my ($header) = @_;

	return map { s/^\s+|\s+$//gr } split /\|/, $header;
}

# Text without what differs each time: numbers, units, the widths of columns.
sub shape_of
{
	my ($text) = @_;

	$text =~ s/\d[\d.,:-]*/9/g;
	$text =~ s/\b9 [kMG]?B\b|\b9 bytes\b/9 B/g;
	$text =~ s/^(?:[-+]{3,})$//;
	$text =~ s/-{3,}/---/g;
	$text =~ s/\s+/ /g;
	$text =~ s/^ | $//g;
	return $text;
}

sub compare
{
	my ($command, $printed) = @_;
	my @shown = grep { /\S/ && $_ ne '...' } split /\n/, with_replacements($command->{shows});
	my @printed = grep { /\S/ } split /\n/, $printed;

	return say_failure($command, "It printed nothing.") unless @printed;
	if (@shown > 1 && $shown[1] =~ /^-+(?:\+-+)*$/)
	{
		my ($shown, $is) = map { join ' | ', columns($_) } $shown[0], $printed[0];
		return say_failure($command, "The document shows the columns $shown, it printed $is.") if $shown ne $is;
		return say_failure($command, "The document shows rows, it printed none.") if @shown > 2 && $printed =~ /^\(0 rows\)/m;
		return;
	}
	# an explanation is wrapped otherwise at each width
	return if $command->{kind} eq 'sql';
	# which sentences stand behind a figure differs from run to run
	my $shape = $command->{kind} eq 'printed' ? sub { shape_of($_[0] =~ s/\d.*//sr) } : \&shape_of;
	my %printed = map { $shape->($_) => 1 } @printed;
	my @missing = grep { !$printed{ $shape->($_) } } @shown;
	say_failure($command, "It did not print what the document shows:\n" . join("\n", @missing) . "\nbut:\n$printed") if @missing;
}

#
# The server, and what goes on in it
#

# After the server was installed: its version, and a role for the DBA.
sub find_server
{
	return if $version;
	# the folder alone may be of the headers
	($version) = map { m{(\d+)/bin/postgres$} } glob '/usr/lib/postgresql/*/bin/postgres';
	return unless $version;
	do_quietly("pg_createcluster $version main") unless -d "/etc/postgresql/$version/main";
	do_quietly('service postgresql start');
	ask(q{DO $$ BEGIN CREATE ROLE dba SUPERUSER LOGIN; EXCEPTION WHEN duplicate_object THEN END $$});
}

sub restart
{
	undef $growing_pid;
	do_quietly('service postgresql restart');
}

# A session that leaks, and is a suspect of that: its pid.  After minutes one is none any
# more, as it leaks more slowly then.  Without the module, it is whatever unload() has
# started.
my $is_unloaded;

sub growing_process
{
	return $growing_pid if $growing_pid and
	  ($is_unloaded or ask("SELECT count(*) FROM pg_leakhunt_suspects WHERE verdict = 'leak' AND pid = $growing_pid"));
	make_leaker();
	start_leak(1000);
	for (1 .. 200)
	{
		$growing_pid = ask(q{SELECT pid FROM pg_leakhunt_suspects WHERE verdict = 'leak' AND application_name = 'shop' LIMIT 1}) || undef;
		if ($growing_pid)
		{
			# a page may have taken one before a restart
			ask("SELECT pg_leakhunt_baseline($growing_pid)");
			return $growing_pid;
		}
		select undef, undef, undef, 0.2;
	}
	die "The session that leaks is no suspect.\n";
}

my $leaks = 0;

sub start_leak
{
	my ($times) = @_;
	my $file = $work . '/leak.' . $leaks++;

	write_file($file, "SELECT leak_top(64, 10000);\nSELECT pg_sleep(0.05);\n" x 100
		  . "SELECT leak_top(64, 1000);\nSELECT pg_sleep(0.5);\n" x $times);
	do_quietly("cd / && PGAPPNAME=shop setpriv --reuid postgres --regid postgres --init-groups psql -Xq -d postgres -o /dev/null -f $file >/dev/null 2>&1 &");
}

my $have_leaker;

sub make_leaker
{
	return if $have_leaker;
	$have_leaker = 1;
	do_quietly("make -s -C $source/test/leaker && install -d /usr/local/lib/leaker && cp $source/test/leaker/leaker.so $source/test/leaker/leaker.sql /usr/local/lib/leaker");
	do_quietly("setpriv --reuid postgres --regid postgres --init-groups psql -Xq -d postgres -v ON_ERROR_STOP=1 -v leaker=/usr/local/lib/leaker/leaker.so -f /usr/local/lib/leaker/leaker.sql");

	# a statement that takes much
	ask("SELECT length(string_agg(repeat('x', 1000), ',')) FROM generate_series(1, 50000)");
}

# The name of a dump of a session that has exited, without its last part.
sub dump_name
{
	my ($number) = @_;

	unless (@dumps)
	{
		make_leaker();
		start_leak(0) for 1 .. 2;
		for (1 .. 200)
		{
			@dumps = map { s/\.profile$//r } split /\n/, ask(q{SELECT file FROM pg_leakhunt_dumps WHERE reason = 'exit' ORDER BY file});
			last if @dumps >= 2;
			select undef, undef, undef, 0.2;
		}
	}
	return $dumps[$number] // die "Sessions that leaked have left no dumps.\n";
}

# A server without the module, for the program that brings it into a process.
my $settings;

sub unload
{
	# the last line counts
	$settings = read_file("/etc/postgresql/$version/main/postgresql.conf");
	write_file("/etc/postgresql/$version/main/postgresql.conf", "shared_preload_libraries = ''\n", '>>');
	restart();
	$is_unloaded = 1;
	write_file("$work/loop", 'DO $$ BEGIN FOR i IN 1..600 LOOP PERFORM pg_sleep(0.1); END LOOP; END $$');
	do_quietly("cd / && setpriv --reuid postgres --regid postgres --init-groups psql -Xq -d postgres -f $work/loop >/dev/null 2>&1 &");
	for (1 .. 100)
	{
		$growing_pid = ask("SELECT pid FROM pg_stat_activity WHERE query LIKE 'DO %pg_sleep%' AND pid <> pg_backend_pid()") || undef;
		last if $growing_pid;
		select undef, undef, undef, 0.1;
	}
}

sub load
{
	write_file("/etc/postgresql/$version/main/postgresql.conf", $settings);
	undef $is_unloaded;
	restart();
}

# The tree that README's commands have made, if they have.
sub clone
{
	return -d '/home/dba/pg_leakhunt/src' ? '/home/dba/pg_leakhunt' : $source;
}

# What a demo beside the user's own server on port 5432 may not change: its process, its
# module, and what lies in shared memory and in /tmp.
my $server_before;

sub state_of_server
{
	return do_quietly("head -n 1 /var/lib/postgresql/$version/main/postmaster.pid; ls -il --full-time /usr/lib/postgresql/$version/lib/pg_leakhunt*;"
		  . ' ls -d /dev/shm/pg_leakhunt.*; ls /tmp');
}

sub remember_server
{
	return unless $version;
	growing_process();
	$server_before = state_of_server();
}

sub find_server_unchanged
{
	return find_server() unless $version;
	my $after = state_of_server();

	die "The user's own server was:\n$server_before\nand is after the demo:\n$after" if $after ne $server_before;
}

# A function that leaks, by the name that doc/ci.md has for one.
sub make_function
{
	growing_process();
	ask('CREATE OR REPLACE FUNCTION my_function(int) RETURNS void LANGUAGE sql VOLATILE AS $$SELECT leak_top(16, 1)$$');
}

sub make_remember
{
	do_quietly("apt-get install -y -q --no-install-recommends postgresql-plperl-$version");
	ask('CREATE EXTENSION IF NOT EXISTS plperl; CREATE OR REPLACE FUNCTION remember(int) RETURNS void LANGUAGE plperl AS '
		  . '$$ push @{$_SHARED{kept}}, "x" x 1000 for 1 .. $_[0]; return; $$');
}

sub make_reporting
{
	ask(q{DO $$ BEGIN CREATE ROLE reporting; EXCEPTION WHEN duplicate_object THEN END $$});
}

sub make_shop
{
	ask('CREATE DATABASE shop') unless ask("SELECT count(*) FROM pg_database WHERE datname = 'shop'");
}

# The table of the statement in doc/plan.md.
sub make_big
{
	ask('CREATE TABLE IF NOT EXISTS big AS SELECT i AS id, i % 1000 AS k FROM generate_series(1, 200000) i; ANALYZE big');
}

# The machine of a CI job: the source of an extension, with that of pg_leakhunt in it, as it
# was built by README's commands, and a new cluster.  That of the documents is put aside,
# unless they have failed to say how to install one.
sub start_job
{
	$in_job = 1;
	chdir_to('ci', '/home/ci/my_extension');
	do_quietly("rm -rf /home/ci/my_extension && install -d -o ci /home/ci/my_extension");
	put_server_aside() if $version;
	do_quietly("chown -R ci: /home/ci");
	write_file('/home/ci/my_extension/my_extension.control', "default_version = '1.0'\n");
	write_file('/home/ci/my_extension/my_extension--1.0.sql', "CREATE FUNCTION my_function(int) RETURNS int LANGUAGE sql AS 'SELECT 1';\n");
	write_file('/home/ci/my_extension/Makefile', "EXTENSION = my_extension\nDATA = my_extension--1.0.sql\nREGRESS = my_extension\n$makefile\n");
	do_quietly('install -d -o ci /home/ci/my_extension/sql');
	write_file('/home/ci/my_extension/sql/my_extension.sql', "CREATE EXTENSION my_extension;\nSELECT my_function(42);\n");
}

my $is_put_aside;

sub put_server_aside
{
	do_quietly("pg_renamecluster $version main documents && pg_ctlcluster $version documents stop");
	do_quietly("echo manual >/etc/postgresql/$version/documents/start.conf && pg_createcluster -p 5432 $version main");
	$is_put_aside = 1;
}

sub end_job
{
	undef $in_job;
	return unless $is_put_aside;
	undef $is_put_aside;
	undef $growing_pid;
	do_quietly("pg_dropcluster --stop $version main && pg_renamecluster $version documents main");
	do_quietly("echo auto >/etc/postgresql/$version/main/start.conf && service postgresql start");
}

#
# Services
#

# A store of profiles, which takes all that it is sent.
sub start_collector
{
	return if $collector_pid;
	my $socket = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1:4040', ReuseAddr => 1) or die "4040: $!\n";
	$collector_pid = fork();
	return if $collector_pid;
	while (my $client = $socket->accept())
	{
		my $length = 0;
		while (defined(my $line = <$client>))
		{
			$length = $1 if $line =~ /^Content-Length: (\d+)/i;
			last if $line =~ /^\r?\n$/;
		}
		my $body;
		read $client, $body, $length;
		print $client "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
		close $client;
	}
	_exit(0);
}

# Start a unit by hand, as systemd would: its command, as its user, with its variables.
sub start_unit
{
	my ($unit) = @_;
	my $service = $unit =~ s/\.timer$/.service/r;
	my $text = read_file("/etc/systemd/system/$service");
	my ($user) = $text =~ /^User=(.*)$/m;
	my ($start) = $text =~ /^ExecStart=(.*)$/m;
	my ($oneshot) = $text =~ /^Type=oneshot$/m;
	my @variables = map { split ' ' } $text =~ /^Environment=(.*)$/mg;
	my ($file) = $text =~ /^EnvironmentFile=-(.*)$/m;

	do_quietly("systemd-analyze verify /etc/systemd/system/$unit /etc/systemd/system/$service");
	do_quietly("id $user >/dev/null 2>&1 || useradd --system $user");
	do_quietly("install -d -o $user /var/lib/pg_leakhunt") if $text =~ /^StateDirectory=/m;
	my %variables = map { split /=/, $_, 2 } @variables, grep { /^\w+=/ } split /\n/, read_file($file);
	# systemd splits the value of a variable that is an argument of its own
	$start =~ s/\$(\w+)/$variables{$1} \/\/ ''/ge;
	my $run = "cd / && setpriv --reuid $user --regid $user --init-groups env " . join(' ', map { "'$_=$variables{$_}'" } sort keys %variables) . " $start";
	return do_quietly($run) if $oneshot;
	do_quietly("$run >$work/$service.log 2>&1 & sleep 3; kill -0 \$! || { cat $work/$service.log; false; }");
}

#
# From nothing to the first answer
#

# Prepares statements and deallocates none, as some applications do.
sub leak_in_sql
{
	write_file("$work/leak", join '', map { "PREPARE item_$_ AS SELECT attname FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid WHERE c.oid = $_;\n"
			  . ($_ % 40 ? '' : "SELECT pg_sleep(0.05);\n") } 1 .. 40_000);
	do_quietly("cd / && PGAPPNAME=shop setpriv --reuid postgres --regid postgres --init-groups psql -Xq -d postgres -o /dev/null -f $work/leak >/dev/null 2>&1 &");
}

# Ask as README does until the answer names the session.
sub run_first_query
{
	my ($command) = @_;
	my $printed;

	leak_in_sql();
	write_file("$work/statement", "$command->{text}\n");
	for (1 .. 600)
	{
		(undef, $printed) = run_shell('dba', "psql -X -v ON_ERROR_STOP=1 -f $work/statement");
		last if $printed =~ /contexts .*shop/s;
		select undef, undef, undef, 0.2;
	}
	print $printed;
	say_failure($command, 'It does not name the session that leaks.') if $printed !~ /contexts .*shop/s;
}

# Carry out a step, and print what it took: seconds by the clock, and of processors.
sub timed
{
	my ($what, $step) = @_;
	my @before = POSIX::times();

	$step->();
	my @after = POSIX::times();
	# by the clock, and of all programs that have ended: the last two of five
	my ($seconds, $cpu) = map { $_ / sysconf(_SC_CLK_TCK) } $after[0] - $before[0], $after[3] + $after[4] - $before[3] - $before[4];
	printf "%6.1f s, %5.1f s of processors: %s\n", $seconds, $cpu, $what;
	return ($seconds, $cpu);
}

# README's commands up to the first query.  Whoever has a new machine fetches the lists of
# packages first.
sub follow_readme
{
	my @steps = ([ 'apt-get update', sub { do_quietly('apt-get update -q') } ]);
	my ($seconds, $cpu) = (0, 0);

	for my $command (grep { $_->{kind} ne 'no' } commands_of('README.md'))
	{
		my $is_query = $command->{text} =~ /FROM pg_leakhunt\b/;

		push @steps, [ $command->{text} =~ s/\n.*//sr, sub { $is_query ? run_first_query($command) : run_command($command) } ];
		last if $is_query;
	}
	for (@steps)
	{
		my @took = timed(@$_);
		$seconds += $took[0];
		$cpu += $took[1];
	}
	printf "From nothing to the first answer: %.0f s, %.0f s of processors; within two minutes: %s\n", $seconds, $cpu, $seconds <= 120 ? 'yes' : 'no';
}

# Each file that the documents say is installed.
sub check_installed
{
	my $folder = `pg_config --sharedir`;
	my $line = 0;

	chomp $folder;
	for (split /\n/, read_file("$source/monitoring/README.md"))
	{
		$line++;
		next unless /^\| `([^`]+)` \|/;
		$run_count++;
		say_failure({ file => 'monitoring/README.md', line => $line, who => 'file', text => $1 }, 'It is not installed.')
		  unless -e "$folder/pg_leakhunt/monitoring/$1";
	}
}

# The first process of the root has to take leave of those that nobody waits for.
$| = 1;
if (my $child = fork())
{
	my $ended;
	do { $ended = wait() } until $ended == $child;
	exit($? ? 1 : 0);
}
mkdir $work;
# who runs the commands knows the machine by its name, and says yes when apt-get asks
do_quietly('echo 127.0.0.1 localhost $(uname -n) >/etc/hosts');
write_file('/etc/apt/apt.conf.d/documents', qq(APT::Get::Assume-Yes "true";\nDPkg::Options:: "--force-unsafe-io";\nDpkg::Use-Pty "false";\n));
make_users();
if (($ARGV[0] // '') eq '--first-answer')
{
	follow_readme();
	exit($failures ? 1 : 0);
}
do_quietly('apt-get update -q');
for my $document (@documents)
{
	my @commands = commands_of($document);
	if ($ARGV[0] and $ARGV[0] eq '--list')
	{
		print "$_->{file}:$_->{line}: $_->{kind} ($_->{who}) $_->{text}\n" for @commands;
		next;
	}
	my $before = $run_count;
	my $start = time;
	run_command($_) for @commands;
	printf "%s: %d commands, %d seconds\n", $document, $run_count - $before, time - $start;
}
check_installed();
kill TERM => $collector_pid if $collector_pid;
print "Failures: $failures\n";
exit($failures ? 1 : 0);
