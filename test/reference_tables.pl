# Makes the tables of columns in doc/reference.md anew, from what COMMENT ON COLUMN says.
# The page is the argument; lines of view, column, type and comment, with tabs between
# them, are on standard input; the new page is printed.  test/reference_tables calls this,
# and 020_reference.pl, which compares the page.
#
# A comment is plain text, as psql shows it.  That of bytes ends with "; in bytes".
# The table has names in typewriter, and words between double quotes; "as in VIEW" and
# "see Heading" become links.
use strict;
use warnings;

my ($file) = @ARGV;
my %short = (
	'integer' => 'int',
	'boolean' => 'bool',
	'double precision' => 'float8',
	'timestamp with time zone' => 'timestamptz');
# words that are links wherever they stand
my %links = (
	'eight times that' => '#settings',
	'finer interval' => '#settings',
	'one statement' => '#statements',
	'preloaded' => 'malloc.md',
	'tells statements apart' => '#statements',
	'without what may be a secret' => '#statements',
	'word in brackets' => '#stack-frames');
my $links = join '|', map { quotemeta } sort keys %links;
my (%rows, %is_heading);

sub anchor_of
{
	my ($heading) = @_;

	return lc($heading =~ s/[^\w\s-]//gr) =~ s/ /-/gr;
}

# The text of a cell.
sub cell
{
	my ($text) = @_;

	$text =~ s/\|/\\|/g;
	# words between quotes, placeholders as [no room], and what is spelled as names are
	$text =~ s{"([^"]+)"|(\[[a-z ]+\])|(?<![\w/."])(?!pg_leakhunt(?![_.]\w))((?:/proc|_?[A-Za-z]*[a-z](?:[_.][a-z]+)*_[a-z]+(?:\.[a-z_]+)*(?:\(\))?|RssAnon|SET ROLE)(?![\w]))}
		{'`' . ($1 // $2 // $3) . '`'}ge;
	$text =~ s/\b($links)\b/[$1]($links{$1})/g;
	$text =~ s/\b(as in|like) `(pg_leakhunt_\w+)`/"$1 " . link_to($2, "`$2`")/ge;
	$text =~ s/\bsee `?([A-Z][a-z]+(?: [a-z]+)*|pg_leakhunt_\w+)`?/"see " . link_to($1, $1)/ge;
	return $text;
}

sub link_to
{
	my ($heading, $otherwise) = @_;

	return $is_heading{$heading} ? "[$heading](#" . anchor_of($heading) . ')' : $otherwise;
}

sub table_of
{
	my ($view) = @_;

	return map {
		my ($column, $type, $comment) = @$_;
		my $unit = $comment =~ s/; in (bytes(?: per hour)?)$// ? $1 : $type =~ /^timestamp/ ? 'time' : '';

		"| `$column` | " . ($short{$type} // $type) . ' | ' . ($unit ? "$unit " : '') . '| ' . cell($comment) . " |\n"
	} @{ $rows{$view} };
}

while (<STDIN>)
{
	chomp;
	my ($view, @row) = split /\t/;
	push @{ $rows{$view} }, \@row;
}
open my $page, '<', $file or die "$file: $!";
my @lines = <$page>;
my ($part, $view, $in_table) = ('', '', 0);

/^#+ (.*)/ and $is_heading{$1} = 1 for @lines;
for my $line (@lines)
{
	$part = $1 if $line =~ /^## (.*)/;
	$view = $1 if $line =~ /^### (.*)/;
	if ($part eq 'Views' and $rows{$view})
	{
		$in_table = 1, next if $line eq "| column | type | unit | meaning |\n";
		next if $in_table and $line =~ /^\|/;
		if ($in_table)
		{
			print "| column | type | unit | meaning |\n|---|---|---|---|\n", table_of($view);
			$in_table = 0;
		}
	}
	print $line;
}
