#!/usr/bin/env perl
# Shows a profile for pprof in speedscope, in a real browser: is the function there,
# with its bytes?
#
# Usage: show_pprof.pl SPEEDSCOPE PROFILE DIRECTORY FUNCTION [PICTURE]
# SPEEDSCOPE is the folder with its page; files go to DIRECTORY, and pictures of the
# flame graph and the table to PICTURE and PICTURE.table.png.
use strict;
use warnings;

use Cwd qw(abs_path);
use FindBin;
use MIME::Base64;
use lib $FindBin::RealBin;
use Browser;

my ($speedscope, $profile, $directory, $function, $picture) = @ARGV;
my $browser = Browser->start("$directory/browser", "$FindBin::RealBin/speedscope_probe.js");

# Wait for something to be seen.
sub wait_for
{
	my ($condition, $what) = @_;

	for (1 .. 1800)
	{
		return if $browser->value($condition);
		select(undef, undef, undef, 0.1);
	}
	die "speedscope: $what\n";
}

# Its page takes a profile from a script beside it, as its own command does it.
my $name = $profile =~ s{.*/}{}r;
open my $in, '<:raw', $profile or die "$profile: $!";
my $bytes = do { local $/; <$in> };
open my $script, '>', "$directory/profile.js" or die $!;
print $script "speedscope.loadFileFromBase64('$name', '", encode_base64($bytes, ''), "')\n";
close $script or die $!;

$browser->resize(1280, 800);
$browser->open(abs_path($speedscope) . "/index.html#localProfilePath=$directory/profile.js");
wait_for('document.title.includes("' . $name . '")', "it has not loaded the profile: " . $browser->value('document.body.textContent'));
$browser->screenshot($picture) if $picture;

# the third of its views is a table
$browser->type('3');
wait_for("rowOf('$function') !== undefined", "$function is not in its table");
my $row = $browser->value("rowOf('$function')");
$browser->screenshot("$picture.table.png") if $picture;
print "speedscope shows $row->[0]: $row->[1] of its own, $row->[2] in all\n";

# 640,000 bytes
die "speedscope: these are not the bytes of the leak\n" unless $row->[1] =~ /^625\.00 KB/;
$browser->stop;
