# Leaks that were found in other people's code: the statements of doc/found.md still show the
# bytes that it says, of those modules that the server has.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use LeakHunt;
use Malloc;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main', "pg_leakhunt.enabled = off\nmax_prepared_transactions = 2\n");
{
	local %ENV = (%ENV, preloaded($node), PYTHONMALLOC => 'malloc');
	$node->restart;
}

# Each finding is a block with what is made before and the statement, and a block of rows.
my $document = slurp_file("$FindBin::RealBin/../../doc/found.md");
my ($findings, $tried) = (0, 0);
while ($document =~ /^<!-- (\w+) -->\n```sql\n(.*?)^(SELECT .*?);\n```\n\n```\n(.*?)```/msg)
{
	my ($extension, $before, $check, $rows) = ($1, $2, $3, $4);
	my @rows = map { join '|', split /\s*\|\s*/, s/^\s+//r, -1 } split /\n/, $rows;

	$findings++;
	next unless is_that_server() && has_extension($extension) && ($extension !~ /perl/ || has_that_perl());
	$tried++;
	make_database();
	is(without_lines($node->safe_psql('found', "$before$check ORDER BY 1 DESC, 4")),
		join("\n", @rows), "$extension: $check");
}
is($findings, 15, 'the findings of doc/found.md were found');
note("$tried of them were tried: the server has no more of these modules, or is not the one of the document");
done_testing();

# The document has the bytes of PostgreSQL 15.
sub is_that_server
{
	return $node->safe_psql('postgres', 'SHOW server_version_num') =~ /^15/;
}

sub has_extension
{
	my ($name) = @_;

	return ask($node, "SELECT count(*) FROM pg_available_extensions WHERE name = '$name'");
}

sub make_database
{
	$node->safe_psql('postgres', 'DROP DATABASE IF EXISTS found');
	$node->safe_psql('postgres', q{CREATE DATABASE found ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0});
	$node->safe_psql('found', 'CREATE EXTENSION pg_leakhunt');
}

# What Perl allocates for a value differs from one version to the next: the document has that
# of 5.36.
sub has_that_perl
{
	return 0 unless has_extension('plperl');
	make_database();
	return $node->safe_psql('found', q{
		CREATE EXTENSION plperl;
		CREATE FUNCTION perl_version() RETURNS text LANGUAGE plperl AS 'return "$]"';
		SELECT perl_version()}) =~ /^5\.036/;
}

sub without_lines
{
	return $_[0] =~ s/ \([^()]*:\d+\)$//mgr;
}
