# An installation of PostgreSQL of a test's own, in which the files of pg_leakhunt can be replaced
# by those of another version, as packages do it.
package Installation;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(new_installation installed_paths put_file node_of define_told $no_match);

# What a library says to objects that it has no functions for, or that lack columns.
our $no_match = 'the SQL objects of extension pg_leakhunt do not match its library';

# Where the installation that is tested has its files.
sub installed_paths
{
	return map { $_ => `$ENV{PG_CONFIG} --$_` =~ s/\n//r } qw(bindir pkglibdir sharedir);
}

# Copy it below another root; its libraries but the module are links.
sub new_installation
{
	my $root = PostgreSQL::Test::Utils::tempdir() . '/root';
	my %paths = installed_paths();

	system_or_bail('mkdir', '-p', "$root$paths{pkglibdir}", map { "$root$paths{$_}" =~ s{/[^/]*$}{}r } qw(bindir sharedir));
	system_or_bail('cp', '-rL', $paths{$_}, "$root$paths{$_}") for qw(bindir sharedir);
	symlink($_, "$root$_") or die $! for grep { !/pg_leakhunt\.so/ } glob("$paths{pkglibdir}/*");
	my %self = (root => $root, map { $_ => "$root$paths{$_}" } keys %paths);
	put_file("$paths{pkglibdir}/pg_leakhunt.so", "$self{pkglibdir}/pg_leakhunt.so");
	return \%self;
}

# Put a file there as packages do it: a new one with the name of the old one.
sub put_file
{
	my ($file, $to) = @_;

	system_or_bail('cp', $file, "$to.new");
	rename("$to.new", $to) or die $!;
	return;
}

# A cluster of that installation, which is neither initialized nor started.
sub node_of
{
	my ($installation, $name) = @_;

	return PostgreSQL::Test::Cluster->new($name, install_path => $installation->{bindir} =~ s{/bin$}{}r);
}

# Make told(statement): its number of rows, or its error.
sub define_told
{
	my ($node) = @_;

	$node->safe_psql(
		'postgres', q{
	CREATE FUNCTION told(statement text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		number bigint;
	BEGIN
		EXECUTE statement INTO number;
		RETURN number || ' rows';
	EXCEPTION WHEN OTHERS THEN
		RETURN sqlerrm;
	END $$});
	return;
}

1;
