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

. "$top/test/control_groups.sh"

# What tar leaves out of a copy of this tree, so that it is built there.
not_sources=(--exclude-vcs --exclude='*.o' --exclude='*.bc' --exclude='*.so' --exclude=pg_leakhunt_look --exclude='false_server_[0-9]*')

# The folder of sources and servers, which are downloaded and built only once.
cache=${PG_LEAKHUNT_CACHE:-/var/tmp/pg_leakhunt-cache}

fail() {
	echo "$*" >&2
	exit 1
}

# Of lines, those that belong to $SLICE: of 1/2 the first of two, and every second one after it.
# All, if it is not set.
take_slice() {
	awk -v slice="${SLICE:-1/1}" 'BEGIN { split(slice, part, "/") } (NR - 1) % part[2] == part[1] - 1'
}

# Say what cannot be tested here.  With NO_SKIP, as in CI, that is a failure.
skipped=0
skip() {
	echo "Skipped: $*"
	[ -z "${NO_SKIP:-}" ] || fail "NO_SKIP is set: nothing may be skipped."
	skipped=$((skipped + 1))
}

# The last lines of a script that may skip something: the checks that TAP tests have
# left out by themselves, and how often skip was called.
tell_skipped() {
	[ -z "${scratch:-}" ] || "$top/test/skipped" "$scratch/tmp_check/log"
	echo "$(basename "$0"): $([ "$skipped" = 0 ] && echo "nothing was skipped" || echo "skipped: $skipped")"
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

# The major version of the newest of the distribution's servers that is installed, and can
# load the module; if there is none, of the one that the distribution would install.
packaged_version() {
	local installed

	installed=$(ls /usr/lib/postgresql/*/bin/postgres 2>/dev/null | cut -d / -f 5 |
		awk '$1 >= 15' | sort -rn | head -n 1)
	[ -z "$installed" ] || { echo "$installed"; return; }
	apt-cache depends postgresql 2>/dev/null |
		sed -n 's/.*Depends: postgresql-\([0-9][0-9]*\)$/\1/p' | head -n 1
}

# Where the system has a shared library of that name; nothing if it has none.  The list is
# read to its end: who left earlier would now and then end the program that prints it, and
# with that the script.
path_of_shared_library() {
	ldconfig -p | awk -v name="$1" '$1 == name && !found { print $NF; found = 1 }'
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
	local missing=$(missing_packages "$@") status=0
	local conf=/etc/postgresql-common/createcluster.conf ours=""

	[ -n "$missing" ] || return 0
	echo "Installing" $missing
	# The server's package would otherwise make a cluster, and start it.  Those that the user
	# installs later are to have one.
	if [ ! -e "$conf" ]; then
		ours=1
		"${as_root[@]}" mkdir -p "$(dirname "$conf")"
		echo "create_main_cluster = false" | "${as_root[@]}" tee "$conf" >/dev/null
	fi
	"${as_root[@]}" apt-get update -q >/dev/null
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -q --no-install-recommends -o DPkg::Lock::Timeout=300 $missing >/dev/null || status=$?
	[ -z "$ours" ] || "${as_root[@]}" rm -f "$conf"
	return "$status"
}

# Install the packages that are needed for building, and the further ones that are
# named.  Without apt-get, only check that there is a server.
install_packages() {
	local found version

	[ -z "${INSTALLED:-}" ] || return 0
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

# Install the JIT compiler of the distribution's server, which is a package of its
# own from 18 on.
install_jit() {
	install_for_server "postgresql-%s-jit"
}

# The same of other packages, by the patterns of their names, for a server that is
# a package itself.
install_for_server() {
	local server=$(find_pg_config) major pattern package

	major=$(echo "$server" | sed -n 's|^/usr/lib/postgresql/\([0-9]*\)/.*|\1|p')
	[ -n "$major" ] || return 0
	for pattern in "$@"; do
		package=${pattern/\%s/$major}
		! apt-cache show "$package" >/dev/null 2>&1 || install_programs "$package"
	done
}

# The programs of a server, which may lie beside all others of the system.
server_programs() {
	(cd "$1" && find . -maxdepth 1 \( -name 'pg*' -o -name postgres -o -name postmaster -o -name initdb \
		-o -name psql -o -name 'create*' -o -name 'drop*' -o -name 'vacuum*' -o -name 'reindex*' \))
}

# Make symbolic links below a root to those of these files and folders that are not there.
link_into() {
	local root="$1" path
	shift

	for path in "$@"; do
		[ ! -e "$path" ] || [ -e "$root$path" ] || {
			mkdir -p "$(dirname "$root$path")"
			ln -s "$path" "$root$path"
		}
	done
}

# Copy the installation that a pg_config is of to $scratch, and let $pg_config and $bindir
# be those of the copy: so nothing changes for servers that run from the original.
# PostgreSQL's programs find all other files from where they are themselves, if these lie
# in the same folders below another root.  Symbolic links would lead them back.
copy_installation() {
	local original="$1" root="$scratch/server" bin kind path

	rm -rf "$root"
	bin=$("$original" --bindir)
	mkdir -p "$root$bin"
	(cd "$bin" && cp -rL --parents $(server_programs "$bin") "$root$bin")
	for kind in pkglibdir sharedir; do
		path=$("$original" --$kind)
		mkdir -p "$root$path"
		cp -r "$path/." "$root$path"
	done
	# what is only read; a part of libdir may have been copied
	for kind in includedir pkgincludedir includedir-server localedir libdir; do
		path=$("$original" --$kind)
		link_into "$root" "$path"
		[ -L "$root$path" ] || link_into "$root" "$path"/*
	done
	pg_config="$root$bin/pg_config"
	bindir=$("$pg_config" --bindir)
	[ "$bindir" = "$root$bin" ] || fail "The copy of $original does not find itself: it says that it is in $bindir."
}

# Build the libraries of the tests, and copy a server that has the module, as its package
# has installed it.
take_installed() {
	local original="$1"

	[ -f "$("$original" --pkglibdir)/pg_leakhunt.so" ] || fail "$original is of a server that has no pg_leakhunt installed."
	make -s -C "$top/test/leaker" PG_CONFIG="$original" all
	umask 022
	copy_installation "$original"
}

# Remove objects that were built for another server, or with other options, as they cannot be
# linked: the pg_config, the options, and what else make is told.
forget_other_builds() {
	local original="$1" built_for folder
	shift

	built_for=$(("$original"; echo "$@") | cksum)
	[ "$(cat "$top/src/.built_for" 2>/dev/null)" != "$built_for" ] || return 0
	for folder in . test/leaker test/faults bench/fixture; do
		make -s -C "$top/$folder" PG_CONFIG="$original" clean >/dev/null
	done
	echo "$built_for" >"$top/src/.built_for"
}

# Build the module and the libraries of the tests, and install the module into a copy of
# the server.  COPT are options of the compiler and the linker, CC is another compiler
# than the server's, for the module alone: the tests know what functions of their
# libraries the server's compiler inlines.  With INSTALLED, the module that the server
# has is taken.
build_and_install() {
	local copt="${COPT:--Werror}" original compiler=(${CC:+"CC=$CC"}) leaker_copt="${COPT:--Werror}"

	original=$(find_pg_config)
	[ -n "$original" ] || fail "No pg_config of a server with its development files was found."
	[ -z "${INSTALLED:-}" ] || { take_installed "$original"; return; }
	# flags and attributes of the server's headers are those of the compiler that built it
	[[ ${CC:-} != *clang* ]] ||
		copt="$copt -Wno-ignored-optimization-argument -Wno-unknown-warning-option -Wno-ignored-attributes"
	echo "Building for $("$original" --version)${CC:+ with $CC}"
	forget_other_builds "$original" "$copt" "${compiler[@]}"
	make -s -C "$top" -j2 PG_CONFIG="$original" COPT="$copt" "${compiler[@]}" all
	make -s -C "$top/test/leaker" PG_CONFIG="$original" COPT="$leaker_copt" all
	make -s -C "$top/test/faults" PG_CONFIG="$original" COPT=-Werror all
	# the server's user must be able to read it
	umask 022
	copy_installation "$original"
	make -s -C "$top" PG_CONFIG="$pg_config" "${compiler[@]}" install >/dev/null
	# a user's next make must not take objects with sanitizers and the like
	[ "$copt ${compiler[*]}" = "-Werror " ] || rm -f "$top/.built_for_server"
}

# Build a module of bench/fixture, and copy it to $scratch with its declarations.
take_bench_fixture() {
	make -s -C "$top/bench/fixture" PG_CONFIG="$pg_config" COPT="${COPT:--Werror}" all
	cp "$top/bench/fixture/$1".{so,sql} "$scratch"
}

# Declare the functions of a fixture that was copied to $scratch.
declare_functions_of() {
	run_psql -v "$1=$scratch/$1.so" -f "$scratch/$1.sql"
}

# The settings that make a kind of server that benchmarks compare: "without" the module,
# with it; or where every palloc is a sample, "each", or every one in contexts of the
# session, "lasting".
settings_of_kind() {
	[ "$1" = without ] || echo "shared_preload_libraries = 'pg_leakhunt'"
	case "$1" in
		each | lasting) echo "pg_leakhunt.sample_interval = 1" ;;
	esac
	[ "$1" != lasting ] || echo "pg_leakhunt.scope = long_lived"
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
	trap clean_up EXIT
	give_to_server "$scratch"
}

# Have 160 free huge pages, if that is ours to say; clean_up gives them back.  Scripts that run
# side by side in several roots leave that to the one that has started them.
reserve_huge_pages() {
	local reserved=/proc/sys/vm/nr_hugepages

	[ -w $reserved ] && [ -z "${HUGE_PAGES_ARE_RESERVED:-}" ] || return 0
	huge_pages_before=$(cat $reserved)
	# other servers have some, and those of tests beside the one that needs them take some
	awk '{ pages[$1] = $2 }
		END { print 480 + pages["HugePages_Total:"] - pages["HugePages_Free:"] + pages["HugePages_Rsvd:"] }' \
		/proc/meminfo >$reserved || true
}

give_huge_pages_back() {
	[ -z "${huge_pages_before:-}" ] || echo "$huge_pages_before" >/proc/sys/vm/nr_hugepages
}

# Let files and folders, with all that is in them, belong to the user that servers run as.
give_to_server() {
	[ "$server_user" = "$(id -un)" ] || chown -R "$server_user" "$@"
}

# Make $reports, a folder in $scratch for files of servers of other scripts.
make_reports() {
	reports="$scratch/reports"
	"${as_root[@]}" install -d -m 777 "$reports"
	"${as_root[@]}" chmod 711 "$scratch"
}

# The processes that work in $scratch: servers, which are in their data directories, and
# all else that as_server has started.
processes_in_scratch() {
	find /proc/[0-9]*/cwd -maxdepth 0 -lname "$scratch*" 2>/dev/null | cut -d / -f 3 || true
}

# End them.  SIGQUIT lets a server remove what it shares; shells do not heed it.
end_processes() {
	local processes

	processes=$(processes_in_scratch)
	[ -z "$processes" ] || kill -QUIT $processes 2>/dev/null || true
	[ -z "$processes" ] || kill -TERM $processes 2>/dev/null || true
	for _ in $(seq 100); do
		processes=$(processes_in_scratch)
		[ -n "$processes" ] || return 0
		sleep 0.1
	done
	kill -KILL $processes 2>/dev/null || true
}

# Remove what servers of $scratch that were killed have left in shared memory: PostgreSQL's
# own is removed by the next that starts in their data directory, if only to check whether
# it could; and profiles.
remove_shared_memory() {
	local file directory

	for file in $(find "$scratch" -name postmaster.pid 2>/dev/null); do
		# a server that has died is taken for one that runs until its parent has noticed
		rm "$file"
		as_server "$bindir/postgres" --check -D "$(dirname "$file")" >/dev/null 2>&1 || true
	done
	for directory in /dev/shm/pg_leakhunt.*; do
		! grep -qs "^data_directory: $scratch/" "$directory/README" || rm -rf "$directory"
	done
}

# What a script does when it ends, or fails, or is interrupted.
clean_up() {
	local status=$?

	# processes that work in $scratch are ended
	cd /
	end_processes
	remove_shared_memory
	unmount_small_disks
	give_huge_pages_back
	remove_oom_cgroup
	[ -z "${debug_file:-}" ] || "${as_root[@]}" rm -f "$debug_file"
	[ -n "${KEEP:-}" ] || rm -rf "$scratch"
	exit $status
}

# Run a command as the user that servers run as, with a plain environment; and
# within the command that the array "enclosure" has, if a caller has set it.
as_server() {
	local run=(env -i PATH="$bindir:$PATH" HOME="$scratch" LC_ALL=C
		${PG_TEST_TIMEOUT_DEFAULT:+PG_TEST_TIMEOUT_DEFAULT=$PG_TEST_TIMEOUT_DEFAULT PGCTLTIMEOUT=$PG_TEST_TIMEOUT_DEFAULT})

	if [ "$server_user" = "$(id -un)" ]; then
		(cd "$scratch" && "${run[@]}" "$@")
	else
		(cd "$scratch" && ${enclosure[@]+"${enclosure[@]}"} setpriv --reuid "$server_user" --regid "$(id -g "$server_user")" \
			--init-groups "${run[@]}" "$@")
	fi
}

# Let servers run under another program from now on: its command line, to which that
# of the server is added.  pg_ctl is told to start the script that does it, as it
# would start the server itself at a restart.  initdb uses the server as it is.
wrap_server() {
	local program

	as_server mkdir "$scratch/wrapped"
	for program in "$bindir"/*; do
		as_server ln -s "$program" "$scratch/wrapped"
	done
	as_server rm "$scratch/wrapped/pg_ctl"
	as_server tee "$scratch/wrapped/start" >/dev/null <<-SCRIPT
		#!/bin/sh
		exec $* "$bindir/postgres" "\$@"
	SCRIPT
	as_server tee "$scratch/wrapped/pg_ctl" >/dev/null <<-SCRIPT
		#!/bin/sh
		exec "$bindir/pg_ctl" -p "$scratch/wrapped/start" "\$@"
	SCRIPT
	as_server chmod 755 "$scratch/wrapped/start" "$scratch/wrapped/pg_ctl"
	bindir="$scratch/wrapped"
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
	as_server env "$@" "$bindir/pg_ctl" -D "$scratch/data" -l "$scratch/log" -w start >/dev/null ||
		{ cat "$scratch/log" >&2; fail "The throw-away server did not start."; }
}

stop_server() {
	as_server "$bindir/pg_ctl" -D "$scratch/data" -m fast -w stop >/dev/null
}

run_psql() {
	as_server "$bindir/psql" -X -q -h "$scratch" -d postgres -v ON_ERROR_STOP=1 "$@"
}

# Start a session of an application, and of a role if one is given, which runs what is on
# standard input and stays.
start_session() {
	{ cat; echo "SELECT pg_sleep(3600);"; } |
		as_server env PGAPPNAME="$1" ${2:+PGUSER="$2"} "$bindir/psql" -X -q -h "$scratch" -d postgres -o /dev/null 2>>"$scratch/sessions.log" &
}

# Copy this tree's tests, with what they read, to where the server's user may read it.
copy_tests() {
	local parts

	parts=(bench contrib doc sql expected monitoring packaging test Makefile
		# what pages link to, the thresholds and the columns
		$(cd "$top" && echo *.md src/README src/*/README) LICENSE META.json Dockerfile
		src/profile/statement_text.c src/judge/suspect.h src/judge/verdict.h src/functions/columns)
	(cd "$top" && tar --exclude=objects --exclude=replay -cf - "${parts[@]}") | tar -C "$scratch" -xf -
	parts=("${parts[@]%%/*}")
	give_to_server "${parts[@]/#/$scratch/}"
	pgxs_test=$(dirname "$("$pg_config" --pgxs)")/../test
}

# The names of the tests that failed in the last run.
failed_tests() {
	sed -n '/^Test Summary Report/,$s|^\([^ ]*\)  *(Wstat:.*|\1|p' "$scratch/prove.out" | sed 's|.*/||; s|\.pl$||'
}

# Print the ends of the logs of the tests that failed, then what failed in each.
# The summary comes last, because often only the end of the output is kept.
show_failures() {
	local test logs="$scratch/tmp_check/log"
	local failed=$(failed_tests)

	for test in $failed; do
		# A test that does not compile has no log.
		mkdir -p "$logs" && touch "$logs/regress_log_$test"
		echo "The end of the log of $test"
		tail -n 40 "$logs/regress_log_$test"
	done
	for test in $failed; do
		echo "What failed in $test"
		grep -hE -A 7 '(^|\s)not ok|Bail out|Wstat' "$logs/regress_log_$test" |
			head -n 40 || tail -n 5 "$logs/regress_log_$test"
		grep -hE 'TRAP|PANIC|terminated by signal' "$logs/${test}"_*.log 2>/dev/null | head -n 5 || true
	done
	sed -n '/^Test Summary Report/,$p' "$scratch/prove.out"
}

# A small file system for each of these tests that wants a full disk, of the test's name, if
# one can be mounted.
mount_small_disks() {
	local test disk

	small_disks="$scratch/small"
	mkdir -p "$small_disks"
	for test in $(grep -l SMALL_DISK "$@" || true); do
		disk="$small_disks/$(basename "$test" .pl)"
		mkdir -p "$disk"
		"${as_root[@]}" mount -t tmpfs -o size="${small_disk_size:-1m}",mode=777 none "$disk" 2>/dev/null && continue
		skip "tests of a full disk, as no small file system could be mounted."
		small_disks=""
		return
	done
}

unmount_small_disks() {
	local disk

	for disk in "$scratch"/small/*; do
		! mountpoint -q "$disk" 2>/dev/null || "${as_root[@]}" umount "$disk" || true
	done
}

# Make $as_nobody, a folder with mkdir and rmdir that work as user nobody, whoever starts
# them: so tests can have directories of another user.  Or $no_nobody, the reason why
# there is none.
make_programs_of_nobody() {
	local program trial="/dev/shm/pg_leakhunt_trial.$$"

	as_nobody="$scratch/as_nobody"
	mkdir "$as_nobody"
	for program in mkdir rmdir; do
		no_nobody=$("${as_root[@]}" install -o nobody -m 4755 "$(command -v "$program")" "$as_nobody" 2>&1) || break
	done
	if [ -z "$no_nobody" ]; then
		no_nobody=$(as_server "$as_nobody/mkdir" "$trial" 2>&1) || true
		[ "$(stat -c %U "$trial" 2>/dev/null)" = nobody ] ||
			no_nobody="${no_nobody:-programs in $as_nobody run as whoever starts them}"
		as_server "$as_nobody/rmdir" "$trial" 2>/dev/null || true
	fi
	[ -z "$no_nobody" ] || {
		as_nobody=""
		skip "tests of another user's directory: $no_nobody."
	}
}

# The TAP tests in a tree whose names begin with these numbers, of both of its folders; "0"
# is all.
tap_files_of() {
	local number files

	for number in $2; do
		files=$(cd "$1" && ls test/t/"$number"*.pl test/t-long/"$number"*.pl 2>/dev/null || true)
		[ -n "$files" ] || fail "There is no TAP test $number."
		sed "s|^|$1/|" <<<"$files"
	done
}

# Make $template, a data directory that servers of tests are copies of.
make_template() {
	template="$scratch/template"
	as_server "$bindir/initdb" -D "$template" -A trust -N >/dev/null
}

# How many tests run at a time: they wait more than they work.
tap_jobs=${TAP_JOBS:-$((2 * $(nproc)))}

# Run these files of tests, with the further variables in the array tap_variables.
prove_tests() {
	enter_tests_cgroup
	as_server env PG_CONFIG="$pg_config" ${tap_variables[@]+"${tap_variables[@]}"} \
		PERL5LIB="$pgxs_test/perl" PG_REGRESS="$pgxs_test/regress/pg_regress" INITDB_TEMPLATE="${template:-}" \
		LEAKER="$scratch/test/leaker/leaker" SMALL_DISKS="${small_disks:-}" SMALL_SHM="${small_shm:-}" \
		OOM_CGROUP="${oom_cgroup:-}" LIMITED_CGROUP="${limited_cgroup:-}" COUNTED_CGROUP="${counted_cgroup:-}" FORESEEN_CGROUP="${foreseen_cgroup:-}" NO_OOM_CGROUP="${no_oom_cgroup:-}" \
		AS_NOBODY="${as_nobody:-}" NO_NOBODY="${no_nobody:-}" \
		SHORT="${SHORT:-}" TESTDATADIR="$scratch/tmp_check" TESTLOGDIR="$scratch/tmp_check/log" TESTDIR="$scratch" \
		prove --timer -j "$tap_jobs" ${PROVE_VERBOSE:+-v} "$@"
}

# The same where /dev/shm has no more than containers have.
prove_in_small_shm() {
	local small_shm=${small_shm_bytes:-$((64 << 20))}
	local enclosure=(unshare -m)

	# in a chroot, / may be no mount of which that could be told to stay in here
	"${enclosure[@]}" true 2>/dev/null || ! findmnt -n -o PROPAGATION /dev/shm | grep -q private ||
		enclosure+=(--propagation unchanged)
	enclosure+=(bash -c "mount -t tmpfs -o size=$small_shm,mode=1777 none /dev/shm && exec \"\$@\"" run)

	if [ "$server_user" = "$(id -un)" ] || ! "${enclosure[@]}" true 2>/dev/null; then
		skip "tests of a small /dev/shm, as none could be mounted."
		small_shm="" enclosure=()
	fi
	prove_tests "$@"
}

# What TAP tests need beside a server.
prepare_taps() {
	if grep -qE 'unit/(frames|cut_stacks)' "$@"; then
		make -s -j2 -C "$top/test/unit" PG_CONFIG="$(find_pg_config)" frames cut_stacks
		cp "$top"/test/unit/{frames,cut_stacks} "$scratch/test/unit"
	fi
	mount_small_disks "$@"
	make_oom_cgroup
	make_programs_of_nobody
}

# Where each run notes what its tests took: time, commit, status, milliseconds, seconds of
# processors, name.  test/times reads it.
times_log="$cache/tests.log"

# These tests, those first that took longest when they last ran, or have never run.
slowest_first() {
	touch "$times_log" 2>/dev/null || { printf '%s\n' "$@"; return; }
	printf '%s\n' "$@" | awk -v log_file="$times_log" '
		BEGIN { while ((getline line < log_file) > 0) { split(line, field); took[field[6]] = field[4] } }
		{ print ($0 in took ? took[$0] : 999999999), $0 }' | sort -s -k 1,1nr | cut -d " " -f 2-
}

note_times() {
	local failed=$(failed_tests) commit test

	[ -w "$times_log" ] || return 0
	commit=$(git -C "$top" rev-parse --short HEAD 2>/dev/null || echo -)
	sed -nE 's|^\[[0-9:]+\] ([^ ]+) \.+ ok +([0-9]+) ms .*= *([0-9.]+) CPU\)$|ok \2 \3 \1|p' "$scratch/prove.out" |
		sed "s|^|$(date -u +%FT%TZ) $commit |" >>"$times_log"
	for test in $failed; do
		echo "$(date -u +%FT%TZ) $commit failed 0 0 $(cd "$scratch" && ls test/*/"$test.pl" checks/"$test" 2>/dev/null | head -n 1)"
	done >>"$times_log"
}

# The last line of a run.
tell_result() {
	awk -v seconds="$1" -v name="$(basename "$0")" '
		/^Files=/ { split($0, part, /[=,]/); files += part[2]; checks += part[4] }
		END { printf "%s: %d files, %d checks, all passed, in %d min %d s\n", name, files, checks, seconds / 60, seconds % 60 }
	' "$scratch/prove.out"
}

# Run these tests, files below $scratch; show what failed.  Those that want a small /dev/shm
# run beside the others.
run_tests() {
	local began=$SECONDS status=0 all in_small_shm elsewhere taps beside=""

	cd "$scratch"
	mkdir -p "$cache" 2>/dev/null || true
	all=$(slowest_first "$@")
	taps=$(grep '\.pl$' <<<"$all" || true)
	in_small_shm=$(grep -ls SMALL_SHM $taps || true)
	elsewhere=$(grep -L SMALL_SHM $all || true)
	[ -z "$taps" ] || prepare_taps $taps
	as_server mkdir -p tmp_check/log
	give_to_server checks 2>/dev/null || true
	[ -z "$in_small_shm" ] || { prove_in_small_shm $in_small_shm >prove.small 2>&1 & beside=$!; }
	[ -z "$elsewhere" ] || { prove_tests $elsewhere 2>&1 | tee prove.out; } || status=1
	[ -z "$beside" ] || { wait "$beside" || status=1; cat prove.small; cat prove.small >>prove.out; }
	note_times
	[ "$status" = 0 ] || { show_failures; fail "A test failed."; }
	tell_result $((SECONDS - began))
}
