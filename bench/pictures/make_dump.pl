# Writes a dump file of 2,500 sites, whose stacks have 40 frames each.  The calls of their
# functions, which are in no binary, form a tree that gets wider with each level.
use strict;
use warnings;

use Dumps;

# The stack of a site, the innermost function first.
sub stack
{
	my $function = 0;

	return reverse map { $function = ($function * 3 + int(rand(2))) % 9973; 4096 + 10000 * $_ + $function } 1 .. 40;
}

srand(1);
write_dump($ARGV[0], sites => [ map { { stack => [ stack() ] } } 1 .. 2500 ]);
