# Shell functions shared by the scripts that set up, test and measure.
#
# They work as root, or as a user who may use sudo; servers always run as an
# unprivileged user.  All temporary files lie in $scratch and are removed with it.

set -euo pipefail

# The script may have been called by make, whose options are not meant for the make
# that it calls itself.  PG_CONFIG is in the environment by itself, even if it was
# given on the command line of make.
unset MAKEFLAGS MAKELEVEL

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)

# The folder of sources and servers, which are downloaded and built only once.
cache=${PG_LEAKHUNT_CACHE:-/var/tmp/pg_leakhunt-cache}

fail() {
	echo "$*" >&2
	exit 1
}

# The reason why extensions cannot be built for the server of a pg_config, or
# tested on it; empty if they can.
fault_of() {
	local pg_config="$1" pgxs headers bin

	command -v "$pg_config" >/dev/null || { echo "There is no such program."; return; }
	pgxs=$("$pg_config" --pgxs 2>/dev/null) &&
		headers=$("$pg_config" --includedir-server 2>/dev/null) &&
		bin=$("$pg_config" --bindir 2>/dev/null) || { echo "It does not say where its server is."; return; }
	[ -f "$pgxs" ] || { echo "Its server has no PGXS: there is no $pgxs."; return; }
	[ -f "$headers/postgres.h" ] || { echo "Its server has no headers: there is no $headers/postgres.h."; return; }
	[ -x "$bin/initdb" ] || echo "Its server has no initdb: there is no $bin/initdb."
}

# The pg_config to use; empty if there is none.  The caller's PG_CONFIG is used or
# refused: a test of another server than was asked for would prove nothing.
# Without it, the newest server that is suitable is taken.
find_pg_config() {
	local candidate fault

	if [ -n "${PG_CONFIG:-}" ]; then
		fault=$(fault_of "$PG_CONFIG")
		[ -z "$fault" ] || fail "PG_CONFIG=$PG_CONFIG cannot be used.  $fault"
		# The path must hold in other directories, too.
		realpath -s "$(command -v "$PG_CONFIG")"
		return
	fi
	for candidate in $(ls -d /usr/lib/postgresql/*/bin/pg_config 2>/dev/null | sort -rV) \
		$(command -v pg_config || true); do
		if [ -z "$(fault_of "$candidate")" ]; then
			echo "$candidate"
			return
		fi
	done
}

# Says that the script uses servers of its own, to a caller who has set PG_CONFIG.
ignore_pg_config() {
	[ -z "${PG_CONFIG:-}" ] ||
		echo "PG_CONFIG=$PG_CONFIG is ignored: $(basename "$0") uses $1." >&2
	unset PG_CONFIG
}

# The major version of the distribution's server, which is installed if there is none.
packaged_version() {
	apt-cache depends postgresql 2>/dev/null |
		sed -n 's/.*Depends: postgresql-\([0-9][0-9]*\)$/\1/p' | head -n 1
}

missing_packages() {
	local package

	for package in "$@"; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null |
			grep -q 'install ok installed' || echo "$package"
	done
}

# Install those of the named packages that are missing.
install_programs() {
	local missing=$(missing_packages "$@")

	[ -n "$missing" ] || return 0
	echo "Installing" $missing
	# The server's package would otherwise make a cluster, and start it.
	"${as_root[@]}" mkdir -p /etc/postgresql-common
	[ -e /etc/postgresql-common/createcluster.conf ] ||
		echo "create_main_cluster = false" |
		"${as_root[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null
	"${as_root[@]}" apt-get update -q >/dev/null
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -q --no-install-recommends $missing >/dev/null
}

# Install the packages that are needed for building, and the further ones that are
# named.  Without apt-get, only check that there is a server.
install_packages() {
	local found version

	found=$(find_pg_config)
	if ! command -v apt-get >/dev/null; then
		[ -n "$found" ] || fail "No pg_config of a server with its development files was found." \
			"Install PostgreSQL with them, libunwind and elfutils (libdw), each with headers, and gcc, make, perl with IPC::Run."
		return
	fi

	if [ -n "$found" ]; then
		version=$("$found" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
	else
		version=$(packaged_version)
		if [ -z "$version" ]; then
			"${as_root[@]}" apt-get update -q >&2
			version=$(packaged_version)
		fi
	fi
	# A server that the distribution has not installed needs none of its packages.
	[ -n "$found" ] && [ "${found#/usr/lib/postgresql/}" = "$found" ] ||
		set -- "postgresql-$version" "postgresql-server-dev-$version" "$@"
	install_programs gcc make libunwind-dev libdw-dev "$@"
}

# Build the module and the fixture, and install the module.
build_and_install() {
	pg_config=$(find_pg_config)
	[ -n "$pg_config" ] || fail "No pg_config of a server with its development files was found."
	bindir=$("$pg_config" --bindir)
	echo "Building for $("$pg_config" --version)"
	# Objects that were built for another server cannot be linked.
	if [ "$(cat "$top/src/.built_for" 2>/dev/null)" != "$("$pg_config" | cksum)" ]; then
		make -s -C "$top" PG_CONFIG="$pg_config" clean >/dev/null
		make -s -C "$top/test/leaker" PG_CONFIG="$pg_config" clean >/dev/null
		"$pg_config" | cksum >"$top/src/.built_for"
	fi
	make -s -C "$top" -j2 PG_CONFIG="$pg_config" COPT=-Werror all
	make -s -C "$top/test/leaker" PG_CONFIG="$pg_config" COPT=-Werror all
	"${as_root[@]}" make -s -C "$top" PG_CONFIG="$pg_config" install >/dev/null
}

# Make $scratch, a directory that the server's user owns, and that is removed when
# the script ends.
make_scratch() {
	server_user=$(id -un)
	if [ "$server_user" = root ]; then
		server_user=postgres
		id "$server_user" >/dev/null 2>&1 ||
			useradd --system --no-create-home "$server_user"
	fi
	scratch=$(mktemp -d /tmp/pg_leakhunt.XXXXXX)
	"${as_root[@]}" chown "$server_user" "$scratch"
	trap clean_up EXIT
}

clean_up() {
	local status=$?

	if [ -f "$scratch/data/postmaster.pid" ]; then
		as_server "$bindir/pg_ctl" -D "$scratch/data" -m immediate stop >/dev/null 2>&1 || true
	fi
	if mountpoint -q "$scratch/small" 2>/dev/null; then
		"${as_root[@]}" umount "$scratch/small"
	fi
	[ -z "${debug_file:-}" ] || "${as_root[@]}" rm -f "$debug_file"
	[ -n "${KEEP:-}" ] || rm -rf "$scratch"
	exit $status
}

# Run a command as the user that servers run as, with a plain environment.
as_server() {
	local run=(env -i PATH="$bindir:$PATH" HOME="$scratch" LC_ALL=C
		${PG_TEST_TIMEOUT_DEFAULT:+PG_TEST_TIMEOUT_DEFAULT=$PG_TEST_TIMEOUT_DEFAULT})

	if [ "$server_user" = "$(id -un)" ]; then
		(cd "$scratch" && "${run[@]}" "$@")
	else
		(cd "$scratch" && setpriv --reuid "$server_user" --regid "$(id -g "$server_user")" \
			--init-groups "${run[@]}" "$@")
	fi
}

# Make a throw-away cluster in $scratch/data; settings on standard input.
make_cluster() {
	as_server "$bindir/initdb" -D "$scratch/data" -A trust -N --locale=C >/dev/null
	{
		echo "unix_socket_directories = '$scratch'"
		echo "listen_addresses = ''"
		echo "fsync = off"
		cat
	} | as_server tee -a "$scratch/data/postgresql.conf" >/dev/null
}

start_server() {
	as_server "$bindir/pg_ctl" -D "$scratch/data" -l "$scratch/log" -w start >/dev/null ||
		{ cat "$scratch/log" >&2; fail "The throw-away server did not start."; }
}

stop_server() {
	as_server "$bindir/pg_ctl" -D "$scratch/data" -m fast -w stop >/dev/null
}

run_psql() {
	as_server "$bindir/psql" -X -q -h "$scratch" -d postgres -v ON_ERROR_STOP=1 "$@"
}
