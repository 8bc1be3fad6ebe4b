# A real Chromium, driven through ChromeDriver (the WebDriver protocol).
package Browser;

use strict;
use warnings;

use HTTP::Tiny;
use IPC::Run;
use JSON::PP;
use MIME::Base64;
use PostgreSQL::Test::Utils ();

my @started;

# Is there one?
sub is_there
{
	return -x '/usr/bin/chromedriver' && -x '/usr/bin/chromium';
}

# Start it; "directory" is for its own files, "script" one of JavaScript functions
# that can be called in each page.
sub start
{
	my ($class, $directory, $script) = @_;
	my $most_s = 3 * $PostgreSQL::Test::Utils::timeout_default;
	my $self = bless {
		# longer than a script may take, whose error says that it was the script
		http => HTTP::Tiny->new(timeout => 2 * $most_s),
		functions => slurp($script),
		output => ''
	}, $class;

	push @started, $self;

	# files of the browser go where ours do
	local $ENV{HOME} = $directory;
	local $ENV{TMPDIR} = $directory;
	$self->{driver} = IPC::Run::start([ 'chromedriver', '--port=0' ],
		'>&', \$self->{output});
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		$self->{driver}->pump_nb;
		last if $self->{output} =~ /on port (\d+)\./;
		select(undef, undef, undef, 0.1);
	}
	$self->{output} =~ /on port (\d+)\./
	  or die "chromedriver: $self->{output}";
	$self->{url} = "http://127.0.0.1:$1";
	my $session = $self->call(
		'POST',
		'/session',
		{
			capabilities => {
				alwaysMatch => {
					timeouts => { script => 1000 * $most_s, pageLoad => 1000 * $most_s },
					'goog:loggingPrefs' => { browser => 'ALL' },
					'goog:chromeOptions' => {
						args => [
							'--headless=new', '--no-sandbox',
							'--disable-gpu', '--disable-dev-shm-usage',
							"--user-data-dir=$directory/chromium"
						]
					}
				}
			}
		});
	$self->{url} .= "/session/$session->{sessionId}";
	return $self;
}

sub slurp
{
	my ($path) = @_;

	CORE::open my $in, '<', $path or die "$path: $!";
	local $/;
	return scalar <$in>;
}

sub call
{
	my ($self, $method, $path, $content) = @_;
	my $response = $self->{http}->request(
		$method,
		$self->{url} . $path,
		$content
		? {
			content => encode_json($content),
			headers => { 'Content-Type' => 'application/json' }
		  }
		: {});
	my $answer = decode_json($response->{content});

	die "$path: $answer->{value}{message}" unless $response->{success};
	return $answer->{value};
}

# What has been written to the console since the last call, errors of scripts included.
sub console
{
	my ($self) = @_;

	return map { $_->{message} } @{ $self->call('POST', '/se/log', { type => 'browser' }) };
}

sub resize
{
	my ($self, $width, $height) = @_;

	$self->call('POST', '/window/rect',
		{ width => $width, height => $height });
}

# What axe, a checker whose script is given, finds wrong with the page.
sub faults
{
	my ($self, $axe) = @_;

	$self->call('POST', '/execute/sync', { script => slurp($axe) . "\nwindow.axe = axe;", args => [] });
	return @{ $self->call('POST', '/execute/async',
			{ script => 'const done = arguments[0]; axe.run(document).then(found => done(found.violations.map(fault => fault.id + ": " + fault.nodes[0].html)));', args => [] }) };
}

# Show pages on a phone of that width, or with 0 in the window again; dark, if wanted.
sub emulate
{
	my ($self, $width, $dark) = @_;
	my $ask = sub {
		$self->call('POST', '/goog/cdp/execute', { cmd => "Emulation.$_[0]", params => $_[1] });
	};

	$ask->('setEmulatedMedia', { features => [ { name => 'prefers-color-scheme', value => $dark ? 'dark' : 'light' } ] });
	if ($width > 0)
	{
		$ask->('setDeviceMetricsOverride', { width => $width, height => 800, deviceScaleFactor => 1, mobile => JSON::PP::true });
	}
	else
	{
		$ask->('clearDeviceMetricsOverride', {});
	}
}

sub open
{
	my ($self, $path) = @_;

	$self->call('POST', '/url', { url => "file://$path" });
}

# The value of a JavaScript expression, in which "arguments" are those given.
sub value
{
	my ($self, $expression, @arguments) = @_;

	return $self->call('POST', '/execute/sync',
		{ script => "$self->{functions}\nreturn $expression", args => \@arguments });
}

# What one of the script's functions returns.
sub result
{
	my ($self, $function, @arguments) = @_;

	return $self->value("$function(...arguments)", @arguments);
}

# Click on what an expression yields, in its middle, with a real pointer.
sub click
{
	my ($self, $expression) = @_;
	my $box = $self->value("($expression).getBoundingClientRect()");

	$self->call(
		'POST',
		'/actions',
		{
			actions => [
				{
					type => 'pointer',
					id => 'mouse',
					actions => [
						{
							type => 'pointerMove',
							x => int($box->{left} + $box->{width} / 2),
							y => int($box->{top} + $box->{height} / 2)
						},
						{ type => 'pointerDown', button => 0 },
						{ type => 'pointerUp', button => 0 }
					]
				}
			]
		});
}

# Type text, or a key by its WebDriver code.
sub type
{
	my ($self, $text) = @_;

	$self->call(
		'POST',
		'/actions',
		{
			actions => [
				{
					type => 'key',
					id => 'keyboard',
					actions => [
						map {
							{ type => 'keyDown', value => $_ },
							  { type => 'keyUp', value => $_ }
						} split //,
						$text
					]
				}
			]
		});
}

# Drag with a real pointer, from one point of an element to another on the same height;
# both are parts of its width.
sub drag
{
	my ($self, $expression, $from, $to) = @_;
	my $box = $self->value("(($expression).scrollIntoView(), $expression).getBoundingClientRect()");
	my $point = sub {
		{
			type => 'pointerMove',
			x => int($box->{left} + $box->{width} * $_[0]),
			y => int($box->{top} + $box->{height} / 3)
		}
	};

	$self->call(
		'POST',
		'/actions',
		{
			actions => [
				{
					type => 'pointer',
					id => 'mouse',
					actions => [
						$point->($from), { type => 'pointerDown', button => 0 },
						$point->($to), { type => 'pointerUp', button => 0 }
					]
				}
			]
		});
}

# Give a file to a field for files.
sub choose_file
{
	my ($self, $selector, $path) = @_;
	my $found = $self->call('POST', '/element', { using => 'css selector', value => $selector });
	my ($id) = values %$found;

	$self->call('POST', "/element/$id/value", { text => $path });
}

# Save a picture of what there is to see.
sub screenshot
{
	my ($self, $path) = @_;

	CORE::open my $out, '>:raw', $path or die $!;
	print $out decode_base64($self->call('GET', '/screenshot'));
	close $out;
}

sub stop
{
	my ($self) = @_;
	my $driver = delete $self->{driver};

	$self->call('DELETE', '');
	$driver->kill_kill;
}

# A test that dies leaves no browser behind.  When objects are destroyed at the
# end of the program, what it takes to stop one may be gone already.
END
{
	local ($@, $?);
	eval { $_->stop } for grep { $_->{driver} } @started;
}

1;
