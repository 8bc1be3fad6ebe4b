# No role pushes out the dumps of others: beyond dump_keep, the oldest of the role that
# has most goes first.  Needs sessions that end, and files.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Dumps;
use LeakHunt;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main', "pg_leakhunt.dump_min_bytes = '1MB'\npg_leakhunt.sample_interval = '32kB'\npg_leakhunt.dump_keep = 10\n");
$node->safe_psql('postgres', 'CREATE ROLE plain LOGIN; CREATE ROLE other LOGIN');

# Sessions of a role that leave a dump each, and end one after the other.
sub leave_dumps
{
	my ($role, $count) = @_;

	for (1 .. $count)
	{
		my $pid = $node->safe_psql('postgres', 'SELECT pg_backend_pid() FROM leak_top(64, 100000)', extra_params => [ '-U', $role ]);
		wait_until(sub { !-e "/proc/$pid" }, "a session of $role has ended");
	}
}

# How many exit dumps each role has.
sub dumps_by_role
{
	return $node->safe_psql('postgres',
		q{SELECT username, count(*) FROM pg_leakhunt_dumps WHERE reason = 'exit' GROUP BY 1 ORDER BY 1});
}

leave_dumps('other', 3);
leave_dumps('plain', 15);
is(dumps_by_role(), "other|3\nplain|7", 'a role with many dumps pushes out its own');
my ($oldest) = $node->safe_psql('postgres',
	q{SELECT count(*) FROM pg_leakhunt_dumps d WHERE username = 'plain' AND created_at <
		(SELECT max(created_at) FROM pg_leakhunt_dumps WHERE username = 'other')});
is($oldest, 0, 'its oldest go first');

# those that have equally many lose the oldest in turn
leave_dumps('other', 10);
is(dumps_by_role(), "other|5\nplain|5", 'two roles with many dumps have equal shares');
$node->safe_psql('postgres', 'CREATE ROLE third LOGIN');
leave_dumps('third', 1);
leave_dumps('plain', 5);
like(dumps_by_role(), qr/^third\|1$/m, 'the only dump of a role stays');
$node->stop;
done_testing();
