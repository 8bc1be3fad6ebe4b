# Shell functions for a server in a control group with a limit: a part of the scripts of
# bench/forecast.

# Start the server within the group.
start_in_group() {
	rm -f "$scratch/log"
	as_server bash -c 'echo $$ >"$1/cgroup.procs" && exec "$2/pg_ctl" -D "$3/data" -l "$3/log" -w start' \
		start "$limited_cgroup" "$bindir" "$scratch" >/dev/null || fail "The server did not start."
}
