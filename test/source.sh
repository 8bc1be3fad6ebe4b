# Shell functions for PostgreSQL from source; to be read after lib.sh.
#
# Sources and servers built of them stay in $cache.

# The packages that are needed to build a server and to run its tests.
source_packages="bc bison bzip2 curl flex gcc libipc-run-perl make perl zlib1g-dev"

# Print the pre-releases that the lists of packages have of a major version, as 19~rc1.
pre_releases() {
	apt-cache madison "postgresql-$1" | sed -nE 's/^[^|]*\| *([0-9]+~[a-z]+[0-9]+)-[^|]*\|.*/\1/p' | sort -Vru
}

# Fetch a file by its path in the pool of Debian, such as h/hypopg/hypopg_1.4.2.orig.tar.gz,
# into $cache; returns false where no mirror has it.
fetch_from_pool() {
	local uri pool

	"${as_root[@]}" mkdir -p "$cache"
	for uri in $(apt-get indextargets --format '$(REPO_URI)' | sort -u); do
		for pool in pool/main pool/updates/main; do
			! "${as_root[@]}" curl -sfL -o "$cache/$(basename "$1")" "${uri%/}/$pool/$1" || return 0
		done
	done
	return 1
}

# The newest source of a major version that is in $cache.  Sets $source and $release, as 17.11;
# returns false where there is none.
find_source() {
	source=$(ls -d "$cache/postgresql-$1"{.,beta,rc}[0-9]* 2>/dev/null | sort -V | tail -n 1) || true
	release=${source##*-}
	[ -n "$source" ]
}

# Take the newest source of a major version from a clone of PostgreSQL's repository that
# POSTGRES_GIT names into $cache: for sources that the pool has not.
clone_source() {
	local major="$1" cloned="$cache/postgresql.clone" version

	[ -n "${POSTGRES_GIT:-}" ] || return 1
	"${as_root[@]}" rm -rf "$cloned"
	"${as_root[@]}" env GIT_TERMINAL_PROMPT=0 timeout 300 git clone -q --depth 1 --branch "REL_${major}_STABLE" "$POSTGRES_GIT" "$cloned" 2>/dev/null || return 1
	version=$(sed -n 's/^AC_INIT(\[PostgreSQL\], \[\([^]]*\)\].*/\1/p' "$cloned/configure.ac")
	"${as_root[@]}" rm -rf "$cloned/.git"
	"${as_root[@]}" mv "$cloned" "$cache/postgresql-$version"
	find_source "$major"
}

# Unpack the newest source of a major version that the pool of Debian has into
# $cache, unless there is one; if it has none, take it from POSTGRES_GIT.
# Sets $source and $release, as 17.11; returns false where there is none.
fetch_source() {
	local major="$1" version name

	! find_source "$major" || return 0
	for version in $(seq -f "$major.%.0f" 30 -1 0) $(pre_releases "$major"); do
		# as the pool's addresses have a ~
		name="postgresql-${major}_${version/\~/%7e}.orig.tar.bz2"
		fetch_from_pool "p/postgresql-$major/$name" || continue
		"${as_root[@]}" tar xjf "$cache/$name" -C "$cache"
		"${as_root[@]}" rm "$cache/$name"
		find_source "$major"
		return
	done
	clone_source "$major"
}

# Build $source with the further configure options into
# $cache/server-RELEASE-NAME; the tree in which that is done is beside it, as
# build-RELEASE-NAME.  Sets $server and $build.  The commands that build and
# install are on standard input.
#
# Nothing is done if the same commands have succeeded before.  If they have
# changed, or failed, make does what is missing; only other configure options
# start anew.
build_server() {
	local name="$1" commands
	shift

	commands=$(cat)
	server="$cache/server-$release-$name"
	build="$cache/build-$release-$name"
	set -- --prefix="$server" --without-icu --without-readline --enable-tap-tests "$@"
	if [ "$(cat "$build/.configured" 2>/dev/null)" != "$*" ]; then
		"${as_root[@]}" rm -rf "$server" "$build"
		"${as_root[@]}" mkdir -p "$build"
	elif [ "$(cat "$server/.complete" 2>/dev/null)" = "$commands" ]; then
		return 0
	fi
	echo "Building PostgreSQL $release ($name), once"
	"${as_root[@]}" env -C "$build" bash -euc '
		source=$1 server=$2 commands=$3
		shift 3
		if [ ! -e .configured ]; then
			"$source/configure" "$@"
			echo "$*" >.configured
		fi
		eval "$commands"
		echo "$commands" >"$server/.complete"
	' build "$source" "$server" "$commands" "$@" >"$scratch/build.log" 2>&1 || {
		tail -n 30 "$scratch/build.log" >&2
		fail "PostgreSQL $release could not be built.  Remove $build to start anew."
	}
}

# Everything, and what core's own tests need.
build_whole_server() {
	build_server "$@" <<-'MAKE'
		make -s -j"$(nproc)"
		make -s install
		make -s -C src/test/regress
		make -s -C src/test/isolation
		make -s -C contrib/spi
		cp contrib/spi/*.so src/test/regress
	MAKE
}

# No more than tests of an extension need, which takes two thirds of the time.
build_small_server() {
	build_server "$@" <<-'MAKE'
		make -s -C src/backend generated-headers
		make -s -j"$(nproc)" -C src/backend
		for part in include interfaces/libpq common port backend timezone backend/snowball \
			backend/replication/libpqwalreceiver backend/replication/pgoutput \
			backend/utils/mb/conversion_procs makefiles bin/initdb bin/pg_ctl bin/pg_config bin/psql bin/pg_basebackup bin/pg_dump \
			bin/pgbench pl/plpgsql/src test/perl test/regress; do
			make -s -j"$(nproc)" -C "src/$part" install
		done
		# what PGXS needs beside its own file
		make -s -C src install-local
		make -s -C config install
	MAKE
}

build_plain_server() {
	build_whole_server plain --enable-debug
}

build_assert_server() {
	build_whole_server assert --enable-debug --enable-cassert CFLAGS="-O1 -g"
}

# A server that is no position-independent executable.
build_non_pie_server() {
	build_small_server non-pie --enable-debug CFLAGS="-O1 -g -fno-pie -no-pie"
}

# A server that tells Valgrind's memcheck what each chunk of a memory context is.
build_valgrind_server() {
	install_programs valgrind
	build_small_server valgrind --enable-debug --enable-cassert CPPFLAGS=-DUSE_VALGRIND CFLAGS="-O1 -g"
}

# Copy $server, and the tree in which it was built, to change the copies, which become
# $server and $build.  The server's programs find their files from where they are
# themselves.
copy_server() {
	"${as_root[@]}" rm -rf "$server-$1" "$build-copy"
	"${as_root[@]}" cp -a "$build" "$build-copy"
	"${as_root[@]}" cp -a "$server" "$server-$1"
	server="$server-$1"
	build="$build-copy"
	"${as_root[@]}" rm "$server/.complete"
}

# Print a patch without what it changes in the lists of all test modules.  They differ from
# release to release, and are read only where all modules are built.
without_lists_of_modules() {
	awk '/^diff --git / { skip = $3 ~ "^a/src/test/modules/[^/]*$" } !skip' "$1"
}

# A copy of a small server with a patch, which may come with a module of src/test/modules.
# make takes a patched file from the tree in which the server was built, if it is there.
build_patched_server() {
	local name="$1" patch="$2" module="$3" clean_server clean_build complete file

	build_small_server small --enable-debug
	clean_server=$server clean_build=$build
	server="$cache/server-$release-$name" build="$cache/build-$release-$name"
	complete=$(cat "$patch" "$clean_server/.complete" | cksum)
	[ "$(cat "$server/.complete" 2>/dev/null)" != "$complete" ] || return 0
	echo "Building PostgreSQL $release with $(basename "$patch"), once"
	"${as_root[@]}" rm -rf "$server" "$build"
	"${as_root[@]}" cp -a "$clean_server" "$server"
	"${as_root[@]}" cp -a "$clean_build" "$build"
	"${as_root[@]}" rm -f "$server/.complete"
	for file in $(sed -n 's|^+++ b/||p' "$patch"); do
		[ ! -e "$source/$file" ] || "${as_root[@]}" install -D -m 644 "$source/$file" "$build/$file"
	done
	without_lists_of_modules "$patch" | "${as_root[@]}" patch -s -p1 -d "$build" || fail "$patch does not fit PostgreSQL $release."
	"${as_root[@]}" bash -euc '
		make -s -j"$(nproc)" -C "$1/src/backend"
		install -m 755 "$1/src/backend/postgres" "$3/bin/postgres"
		install -m 644 "$1"/src/include/utils/*.h "$("$3/bin/pg_config" --includedir-server)/utils"
		cd "$1/src/test/modules/$2"
		make -s all
		install -m 755 "$2.so" "$("$3/bin/pg_config" --pkglibdir)"
		install -m 644 "$2.control" "$2"--*.sql "$("$3/bin/pg_config" --sharedir)/extension"
	' build "$build" "$module" "$server" >"$scratch/build.log" 2>&1 ||
		{ tail -n 30 "$scratch/build.log" >&2; fail "The patched server could not be built."; }
	echo "$complete" | "${as_root[@]}" tee "$server/.complete" >/dev/null
}

# Link the server of $build anew as no PIE, and install it into $server.  Its method
# tables are in a segment of their own (separate-code), or beside code
# (noseparate-code).
link_non_pie_server() {
	local layout="$1" flags=R binary="$build/src/backend/postgres" address segment

	[ "$layout" = separate-code ] || flags=RE
	"${as_root[@]}" rm -f "$binary"
	"${as_root[@]}" make -s -C "$build/src/backend" postgres LDFLAGS_EX="-no-pie -Wl,-z,$layout" >/dev/null
	"${as_root[@]}" install -m 755 "$binary" "$server/bin/postgres"
	readelf -hW "$binary" | grep -q 'Type: *EXEC ' || fail "$binary is position-independent."
	address=$(nm "$binary" | sed -n 's/^0*\([0-9a-f]*\) r \(mcxt_methods\|AllocSetMethods\)$/\1/p')
	segment=$(readelf -lW "$binary" | sed 's/R E/RE/' | while read -r type _ start _ _ bytes what _; do
		[ "$type" = LOAD ] && ((start <= 0x$address && 0x$address < start + bytes)) && echo "$what" || true
	done)
	[ "$segment" = "$flags" ] || fail "The method tables are in a segment that is \"$segment\" instead of \"$flags\"."
}

# A plain server linked as no PIE, whose tables lie beside code.  The file that has the
# tables is compiled anew, as code that may be anywhere has them where addresses can be
# filled in; all others fit as they are.
build_linked_non_pie_server() {
	local tables=mcxt.o

	[ "${release%%.*}" -ge 16 ] || tables=aset.o
	build_plain_server
	copy_server non-pie
	"${as_root[@]}" rm "$build/src/backend/utils/mmgr/$tables"
	"${as_root[@]}" make -s -C "$build/src/backend/utils/mmgr" "$tables" COPT="-fno-pie" >/dev/null
	link_non_pie_server noseparate-code
}

# Plant a leak of a number of bytes behind a statement of a function of the server.
plant() {
	local file="$1" function="$2" statement="$3" bytes="$4"

	sed "/^$function(/,/^}/ s|^\(\t$statement\)\$|\1 { extern MemoryContext TopMemoryContext; (void) MemoryContextAlloc(TopMemoryContext, $bytes); }|" \
		"$source/$file" | "${as_root[@]}" tee "$build/$file" >/dev/null
	[ "$(grep -c "TopMemoryContext, $bytes);" "$build/$file")" = 1 ] ||
		fail "The leak could not be planted into $file."
}

# Build a server that leaks some bytes per connection and per random(), from the plain
# one, which build_plain_server has built.  make takes a source file from the tree in which
# the server was built, if it is there.
build_leaky_server() {
	local clean_server="$cache/server-$release-plain" clean_build="$cache/build-$release-plain"

	server="$clean_server-leak-$1-$2"
	[ ! -e "$server/.complete" ] || return 0
	server=$clean_server build=$clean_build
	copy_server "leak-$1-$2"
	plant src/backend/postmaster/postmaster.c BackendStartup 'bn->cancel_key = MyCancelKey;' "$1"
	plant src/backend/utils/adt/pseudorandomfuncs.c drandom 'result = pg_prng_double(&prng_state);' "$2"
	"${as_root[@]}" make -s -C "$build/src/backend" >"$scratch/build.log" 2>&1 ||
		{ cat "$scratch/build.log"; fail "The leaky server could not be built."; }
	"${as_root[@]}" cp "$build/src/backend/postgres" "$server/bin/postgres"
	"${as_root[@]}" touch "$server/.complete"
}

# Run tests of one of PostgreSQL's suites, regress or isolation, with further options, on
# the server that runs in $scratch.  What they print goes to $scratch/SUITE.out.
run_core_suite() {
	local suite="$1" program="$build/src/test/$1/pg_$1" input="$source/src/test/$1" expected=()
	shift

	[ "$suite" = regress ] || program="$build/src/test/isolation/pg_isolation_regress"
	if "$program" --help | grep -q -e --expecteddir; then
		expected=(--expecteddir="$input")
	fi
	as_server mkdir -p "$scratch/$suite"
	as_server "$program" --bindir="$bindir" --host="$scratch" \
		--inputdir="$input" "${expected[@]}" --outputdir="$scratch/$suite" \
		--dlpath="$build/src/test/regress" "$@" >"$scratch/$suite.out" 2>&1
}

# The same, of which no test may fail.
pass_core_suite() {
	run_core_suite "$@" || {
		tail -n 100 "$scratch/$1/regression.diffs" || cat "$scratch/$1.out"
		fail "A test failed."
	}
}

# Both suites as a whole.
pass_core_suites() {
	pass_core_suite regress --max-concurrent-tests=20 --schedule="$source/src/test/regress/parallel_schedule"
	pass_core_suite isolation --schedule="$source/src/test/isolation/isolation_schedule"
}
