# Shell functions for a control group in which a process runs out of memory at once:
# a part of test/lib.sh.

# Write a line into a file of a control group.  Returns whether the kernel took it.
write_to_group() {
	echo "$2" | "${as_root[@]}" tee "$1" >/dev/null 2>&1
}

# Make a control group, or note why that can't be.
make_group() {
	no_oom_cgroup=$("${as_root[@]}" mkdir "$1" 2>&1) || return 1
	oom_groups=("$1" ${oom_groups[@]+"${oom_groups[@]}"})
}

# The group in a hierarchy of the first version.
make_oom_cgroup_v1() {
	local group

	make_group "$1" || return 1
	no_oom_cgroup="no limit could be set in $1"
	write_to_group "$1/memory.limit_in_bytes" 4M || return 1
	# without that, a system with swap would swap
	[ ! -e "$1/memory.memsw.limit_in_bytes" ] || write_to_group "$1/memory.memsw.limit_in_bytes" 4M || return 1
	"${as_root[@]}" chown "$server_user" "$1/cgroup.procs"
	oom_cgroup="$1"
	limited_cgroup="$1.limited" counted_cgroup="$1.counted" foreseen_cgroup="$1.foreseen"
	for group in "$limited_cgroup" "$counted_cgroup" "$foreseen_cgroup"; do
		make_group "$group" && write_to_group "$group/memory.limit_in_bytes" 512M || return 1
		"${as_root[@]}" chown "$server_user" "$group/cgroup.procs"
	done
}

# The group in a hierarchy of the second version.  There a user may move processes only
# between groups below one that is theirs: so the tests run in a group beside it.  Where
# the root of what is mounted is a container's, with processes in it, the kernel lets
# nobody limit the memory of groups below it.
make_oom_cgroup_v2() {
	local root=$(dirname "$1") group

	no_oom_cgroup="the memory of control groups is none of cgroup v2's in $root"
	grep -qw memory "$root/cgroup.controllers" || return 1
	if ! grep -qw memory "$root/cgroup.subtree_control"; then
		no_oom_cgroup="groups in $root, which has processes, could not be given limits of memory"
		write_to_group "$root/cgroup.subtree_control" +memory || return 1
		oom_root="$root"
	fi
	make_group "$1" && make_group "$1/tests" && make_group "$1/tiny" && make_group "$1/limited" && make_group "$1/counted" &&
		make_group "$1/foreseen" || return 1
	no_oom_cgroup="no limit could be set in $1"
	write_to_group "$1/cgroup.subtree_control" +memory && write_to_group "$1/tiny/memory.max" 4M &&
		write_to_group "$1/limited/memory.max" 512M && write_to_group "$1/counted/memory.max" 512M &&
		write_to_group "$1/foreseen/memory.max" 512M || return 1
	for group in tiny limited counted foreseen; do
		[ ! -e "$1/$group/memory.swap.max" ] || write_to_group "$1/$group/memory.swap.max" 0 || return 1
		"${as_root[@]}" chown "$server_user" "$1/cgroup.procs" "$1/$group/cgroup.procs"
	done
	oom_cgroup="$1/tiny" limited_cgroup="$1/limited" counted_cgroup="$1/counted" foreseen_cgroup="$1/foreseen"
	tests_cgroup="$1/tests"
}

# Make $oom_cgroup, a group in which a process has next to no memory, $limited_cgroup,
# which has enough for a small server, and $counted_cgroup and $foreseen_cgroup, the same for one
# test each, in a hierarchy of either version that is mounted in its usual place; or
# $no_oom_cgroup, the reason why there are none.
make_oom_cgroup() {
	local root reasons="" version

	oom_cgroup="" limited_cgroup="" counted_cgroup="" foreseen_cgroup=""
	for root in /sys/fs/cgroup/memory /sys/fs/cgroup /sys/fs/cgroup/unified; do
		if [ -e "$root/memory.limit_in_bytes" ]; then
			version=v1
		elif [ -e "$root/cgroup.controllers" ]; then
			version=v2
		else
			continue
		fi
		make_oom_cgroup_$version "$root/pg_leakhunt.$$" && no_oom_cgroup="" && return
		remove_oom_cgroup
		reasons="${reasons:+$reasons; }$no_oom_cgroup"
	done
	no_oom_cgroup="${reasons:-there are no control groups in /sys/fs/cgroup}"
	echo "No process can run out of memory: tests of that are skipped, as $no_oom_cgroup."
}

# Remove what make_oom_cgroup has made.
remove_oom_cgroup() {
	local group

	for group in ${oom_groups[@]+"${oom_groups[@]}"}; do
		"${as_root[@]}" rmdir "$group" || true
	done
	[ -z "${oom_root:-}" ] || write_to_group "$oom_root/cgroup.subtree_control" -memory || true
	oom_groups=() oom_root="" oom_cgroup="" limited_cgroup="" counted_cgroup="" foreseen_cgroup="" tests_cgroup=""
}

# Let $limited_cgroup have that limit, in MB.
set_limit() {
	local file="$limited_cgroup/memory.limit_in_bytes"

	[ -e "$file" ] || file="$limited_cgroup/memory.max"
	write_to_group "$file" "${1}M" || fail "The kernel takes no limit of $1 MB."
}

# Let this shell, and what it starts, be in the group of the tests, if they need one.
enter_tests_cgroup() {
	local shell=$BASHPID

	[ -z "${tests_cgroup:-}" ] || write_to_group "$tests_cgroup/cgroup.procs" "$shell" ||
		fail "The tests could not be moved to $tests_cgroup."
}
