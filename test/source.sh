# Shell functions for PostgreSQL from source; to be read after lib.sh.
#
# Sources and servers built of them stay in $cache.

# The packages that are needed to build a server and to run its tests.
source_packages="bc bison bzip2 curl flex gcc libipc-run-perl make perl zlib1g-dev"

# Unpack the newest source of a major version that the pool of Debian has into
# $cache, unless there is one.  Sets $source and $release, as 17.11; returns
# false where there is none.
fetch_source() {
	local major="$1" minor uri pool name

	source=$(ls -d "$cache/postgresql-$major".[0-9]* 2>/dev/null | sort -V | tail -n 1)
	release=${source##*-}
	[ -z "$source" ] || return 0
	"${as_root[@]}" mkdir -p "$cache"
	for minor in $(seq 30 -1 0); do
		name="postgresql-${major}_$major.$minor.orig.tar.bz2"
		for uri in $(apt-get indextargets --format '$(REPO_URI)' | sort -u); do
			for pool in pool/main pool/updates/main; do
				"${as_root[@]}" curl -sfL -o "$cache/$name" "${uri%/}/$pool/p/postgresql-$major/$name" || continue
				"${as_root[@]}" tar xjf "$cache/$name" -C "$cache"
				"${as_root[@]}" rm "$cache/$name"
				release="$major.$minor"
				source="$cache/postgresql-$release"
				return 0
			done
		done
	done
	return 1
}

# Build $source with the further configure options into
# $cache/server-RELEASE-NAME, unless it is there; the tree in which that was
# done is beside it, as build-RELEASE-NAME.  Sets $server and $build.
build_server() {
	local name="$1"
	shift

	server="$cache/server-$release-$name"
	build="$cache/build-$release-$name"
	[ ! -e "$server/.complete" ] || return 0
	echo "Building PostgreSQL $release ($name), once"
	"${as_root[@]}" rm -rf "$server" "$build"
	"${as_root[@]}" mkdir -p "$build"
	"${as_root[@]}" env -C "$build" bash -euc '
		source=$1 server=$2
		shift 2
		"$source/configure" --prefix="$server" --without-icu --without-readline --enable-tap-tests "$@"
		make -s -j"$(nproc)"
		make -s install
		make -s -C src/test/regress
		make -s -C src/test/isolation
		make -s -C contrib/spi
		cp contrib/spi/*.so src/test/regress
		touch "$server/.complete"
	' build "$source" "$server" "$@" >"$scratch/build.log" 2>&1 ||
		{ tail -n 30 "$scratch/build.log" >&2; fail "PostgreSQL $release could not be built."; }
}

build_plain_server() {
	build_server plain --enable-debug
}

build_assert_server() {
	build_server assert --enable-debug --enable-cassert CFLAGS="-O1 -g"
}
