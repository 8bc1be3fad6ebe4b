# Shell functions for a server in the root of a release, and for a leak in it.

data=/var/lib/postgresql/test

fail() {
	echo "$*" >&2
	exit 1
}

as_postgres() {
	(cd / && setpriv --reuid postgres --regid postgres --init-groups "$@")
}

psql() {
	as_postgres "/usr/lib/postgresql/$PG_MAJOR/bin/psql" -XAtq -h /tmp -p 54399 -d postgres -v ON_ERROR_STOP=1 "$@"
}

# The server of the release, without a cluster.
install_server() {
	mkdir -p /etc/postgresql-common
	echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
	apt-get update -q >/dev/null
	apt-get install -y -q --no-install-recommends "postgresql-$1" >/dev/null
}

# A cluster; settings on standard input.
make_cluster() {
	rm -rf "$data"
	as_postgres "/usr/lib/postgresql/$PG_MAJOR/bin/initdb" -D "$data" -A trust -N >/dev/null
	{
		echo "unix_socket_directories = '/tmp'"
		echo "listen_addresses = ''"
		echo "port = 54399"
		cat
	} >>"$data/postgresql.conf"
}

# Start it with these variables in its environment.
start_server() {
	as_postgres env "$@" "/usr/lib/postgresql/$PG_MAJOR/bin/pg_ctl" -D "$data" -l /tmp/server.log -w start >/dev/null ||
		{ cat /tmp/server.log; fail "The server does not start."; }
}

stop_server() {
	as_postgres "/usr/lib/postgresql/$PG_MAJOR/bin/pg_ctl" -D "$data" -m fast -w stop >/dev/null
	wait || true
}

# Create the extension, let a session leak by the fixture that was built with the package,
# and print what is found.  The call site must match $1.
find_leak() {
	local site="${1:-.}" found=""

	psql -c "CREATE EXTENSION pg_leakhunt"
	install -D -m 644 -t /opt/leaker "$BUILT/leaker.so" "$BUILT/leaker.sql"
	psql -v leaker=/opt/leaker/leaker.so -f /opt/leaker/leaker.sql
	{
		for _ in $(seq 100); do
			echo "SELECT leak_top(64, 10000); SELECT pg_sleep(0.05);"
		done
		echo "SELECT pg_sleep(600);"
	} >/tmp/leak.sql
	chmod 644 /tmp/leak.sql
	psql -o /dev/null -f /tmp/leak.sql 2>/dev/null &
	for _ in $(seq 1800); do
		found=$(psql -c "SELECT verdict, site FROM pg_leakhunt_suspects")
		[ -z "$found" ] || break
		sleep 0.1
	done
	echo "Found on PostgreSQL $PG_MAJOR: $found"
	[[ $found =~ ^leak\|$site ]] || fail "The leak was not found and named."
}

# The library that sees malloc must be in force.
expect_malloc() {
	[ "$(psql -c "SELECT bool_and(malloc_tracked) FROM pg_leakhunt_processes JOIN pg_leakhunt_sampling USING (pid) WHERE backend_type = 'client backend'")" = t ] ||
		fail "pg_leakhunt_malloc.so is not in force."
}
