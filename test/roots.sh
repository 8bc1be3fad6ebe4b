# Shell functions for the roots of other Debian releases; to be read after lib.sh.
#
# A root is a minimal system in $cache/root.RELEASE, with the packages that it got
# when it was used.  It is used by one script at a time, as each of them installs its
# own pg_leakhunt there.  Needs root, for debootstrap, chroot and mounts.

# Print the first of this machine's mirrors that has a release; nothing if none has it.
mirror_of() {
	local uri

	for uri in $(apt-get indextargets --format '$(REPO_URI)' | sort -u); do
		if curl -sfI -o /dev/null "${uri%/}/dists/$1/InRelease"; then
			echo "${uri%/}"
			return
		fi
	done
}

# Run a command in a root, with a copy of this tree.  The command has processes, shared
# memory and mounts of its own, which end with it.  $packages, if it is set, is the folder
# where apt keeps what it has downloaded.
in_root() {
	local root="$1"
	shift
	unshare --mount --pid --fork --kill-child bash -euc '
		root=$1 packages=$2
		shift 2
		[ -z "$packages" ] || mount --bind "$packages" "$root/var/cache/apt/archives"
		mount -t proc proc "$root/proc"
		mount -t devpts devpts "$root/dev/pts"
		mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
		mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
		mkdir "$root/tmp/pg_leakhunt"
		tar -xf - -C "$root/tmp/pg_leakhunt"
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root \
			DEBIAN_FRONTEND=noninteractive chroot "$root" "$@" </dev/null
	' in_root "$root" "${packages:-}" "$@" < <(tar -C "$top" "${not_sources[@]}" -cf - .)
}

# Make the root of a release, unless it is there; with make, or the packages that are named.
make_root() {
	local release="$1" root="$2" mirror="$3" base="$1" included="${4:-make}"

	[ ! -e "$root/.complete" ] || return 0
	# experimental is no whole release, but consists of packages on top of sid.
	[ "$release" != experimental ] || base=sid
	rm -rf "$root"
	debootstrap --variant=minbase --include="$included" "$base" "$root" "$mirror" \
		>"$root.log" 2>&1 ||
		{ tail -n 20 "$root.log" >&2; fail "debootstrap of $base failed."; }
	# A mirror may be some weeks old, which is longer than its Release file is valid.
	echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/mirror"
	if [ "$release" = experimental ]; then
		echo "deb $mirror experimental main" >>"$root/etc/apt/sources.list"
		printf '%s\n' 'Package: libpq*' 'Pin: release a=experimental' 'Pin-Priority: 600' \
			>"$root/etc/apt/preferences.d/libpq"
		mkdir -p "$root/etc/postgresql-common"
		echo "create_main_cluster = false" >"$root/etc/postgresql-common/createcluster.conf"
		in_root "$root" bash -euc '
			apt-get update -q
			newest=$(apt-cache search --names-only "^postgresql-server-dev-[0-9]+\$" |
				sed "s/.*dev-\([0-9]*\) .*/\1/" | sort -rn | head -n 1)
			apt-get install -y -q --no-install-recommends \
				"postgresql-$newest" "postgresql-server-dev-$newest"
		' >>"$root.log" 2>&1 || return 1
	fi
	touch "$root/.complete"
}

# What any machine has, on which somebody who may use sudo works.
any_machine=systemd-sysv,sudo,ca-certificates

# Make a fresh root of a release, $root: a copy of a minimal one, base.RELEASE in the cache
# folder, which is used for nothing else.  One is in use at a time on a machine, as what is
# done in it names the ports of programs; others wait until the script ends.
make_fresh_root() {
	local release="$1" mirror="$2" base="$cache/base.$1"

	exec 8>"$cache/documents.lock"
	flock 8
	make_root "$release" "$base" "$mirror" "$any_machine"
	root=$(mktemp -d "$cache/fresh.$release.XXXXXX")
	cp -a "$base/." "$root"
	mkdir -p "$base.packages"
}

# Run a command in the root of a release, which is made if it is not there.  Returns 2 if
# the release can't be had.
run_in_root_of() {
	local release="$1" mirror
	shift

	mirror=$(mirror_of "$release")
	if [ -z "$mirror" ]; then
		echo "$release is not on this machine's mirrors."
		return 2
	fi
	exec 9>"$cache/root.$release.lock"
	flock 9
	if ! make_root "$release" "$cache/root.$release" "$mirror"; then
		tail -n 5 "$cache/root.$release.log"
		echo "The PostgreSQL of $release does not install."
		return 2
	fi
	in_root "$cache/root.$release" "$@" 9>&- || return 1
}

# Run a command in the root of each of the releases in the first argument, with a copy
# of this tree in /tmp/pg_leakhunt.  They run side by side, as tests mostly wait; what
# they print comes when they are done.  Releases that can't be had are skipped.
run_in_roots() {
	local releases="$1" release failed="" status
	local -A runs
	shift

	ignore_pg_config "the PostgreSQL of each Debian release"
	[ "$(id -u)" = 0 ] || fail "$0 must be run as root."
	command -v apt-get >/dev/null || fail "$0 runs on Debian and Ubuntu only."
	install_programs debootstrap curl util-linux
	mkdir -p "$cache"
	logs=$(mktemp -d)
	trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$logs"' EXIT
	for release in $releases; do
		(run_in_root_of "$release" "$@") >"$logs/$release" 2>&1 &
		runs[$release]=$!
	done
	for release in $releases; do
		status=0
		wait "${runs[$release]}" || status=$?
		echo "== $release"
		cat "$logs/$release"
		case "$status" in
			0) ;;
			# a pre-release may not install for some days
			2) NO_SKIP=$([ "$release" = experimental ] || echo "${NO_SKIP:-}") skip "$release" ;;
			*) failed="$failed $release" ;;
		esac
	done
	[ -z "$failed" ] || fail "$(basename "$0") failed on$failed."
	tell_skipped
}
