# Shell functions shared by the scripts that run other people's programs for monitoring, beside
# a server with leaks.

# Install programs whose packages would start them.
install_stopped() {
	local policy=/usr/sbin/policy-rc.d ours=""

	if [ ! -e "$policy" ]; then
		ours=yes
		printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
		"${as_root[@]}" chmod 755 "$policy"
	fi
	install_programs "$@"
	[ -z "$ours" ] || "${as_root[@]}" rm "$policy"
}

# Free ports, as many as the argument says.
free_ports() {
	perl -MIO::Socket::INET -e '
		@sockets = map { IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1") } 1 .. shift;
		print join(" ", map { $_->sockport } @sockets), "\n"' "$1"
}

# Start a program, whose output goes to a file of that name; what bash would say of its
# end goes nowhere.
start_program() {
	local name="$1"
	shift
	as_server bash -c 'echo $$ >"$1.pid"; exec >"$1.log" 2>&1; shift; exec "$@"' start "$scratch/$name" "$@" 2>/dev/null &
}

stop_programs() {
	local file

	for file in "$scratch"/*.pid; do
		[ ! -f "$file" ] || "${as_root[@]}" kill "$(cat "$file")" 2>/dev/null || true
	done
}

# Copies of what the programs read, and of what leaks, where the server's user may read them.
copy_fixtures() {
	"${as_root[@]}" chmod 755 "$scratch"
	cp "$top"/test/leaker/{leaker,corner_cases}.{so,sql} "$scratch"
	cp -r "$top"/{bin,monitoring} "$scratch"
	chmod -R a+rX "$scratch"/{bin,monitoring,leaker.*,corner_cases.*}
	monitoring="$scratch/monitoring"
}

# A server that proves what is lost only when it is asked to, with a role for monitoring.  Where
# there is a control group with a limit, all that connect are in it, and it is as none at first.
start_leaking_server() {
	make_cluster <<-CONF
		shared_preload_libraries = 'pg_leakhunt'
		autovacuum = off
		pg_leakhunt.proof_max_memory = 0
	CONF
	start_server
	if [ -n "$limited_cgroup" ]; then
		set_limit "$no_limit"
		write_to_group "$limited_cgroup/cgroup.procs" "$(head -n 1 "$scratch/data/postmaster.pid")"
	fi
	run_psql -c "CREATE EXTENSION pg_leakhunt; CREATE ROLE monitor LOGIN IN ROLE pg_monitor"
	run_psql -v leaker="$scratch/leaker.so" -f "$scratch/leaker.sql"
	run_psql -v corner_cases="$scratch/corner_cases.so" -f "$scratch/corner_cases.sql"
}

# A statement, a number of times, with a rest after each.
repeat() {
	for _ in $(seq "$1"); do
		echo "$2; SELECT pg_sleep(0.05);"
	done
}

# Let a statement hold a fifth of a limit of 1 GB.
hold_memory() {
	echo "SELECT held IS NULL, pg_sleep(3600) FROM (SELECT array_agg(repeat('x', 1000)) AS held FROM generate_series(1, 100000)) s;" |
		start_session fault_held
}

# Let a session take a limit of 512 MB, slowly.
let_memory_run_out() {
	echo "SELECT count(*) FROM (SELECT array_agg(repeat('x', 20000) || pg_sleep(0.005)::text) FROM generate_series(1, 40000)) s;" |
		start_session fault_large
}

# Let a session have more than at its baseline.
grow_since_baseline() {
	echo "SELECT leak_top(1000, 10000); SELECT pg_leakhunt_baseline(pg_backend_pid()); SELECT leak_top(1000, 20000);" |
		start_session fault_grown
}

# Prove the session that leaks until so much is lost that there is an alert.
prove_leak() {
	local lost

	for _ in $(seq 300); do
		lost=$(run_psql -At -c "SELECT coalesce(sum(lost_bytes), 0) FROM pg_stat_activity, pg_leakhunt_proof(pid)
			WHERE application_name = 'fault_palloc' AND kind IS NOT NULL") || true
		[ "${lost:-0}" -le 20000000 ] || return 0
		sleep 0.5
	done
	fail "Nothing is proven to be lost."
}

# Let the statements of a session reach a limit, one after the other.
reach_limit() {
	{
		echo "SET pg_leakhunt.process_memory_limit = '16MB';"
		repeat 2000 "SELECT array_agg(repeat('x', 1000) || g) FROM generate_series(1, 30000) g"
	} | start_session fault_limit &
}

# Let a session lose samples.
lose_samples() {
	echo "SET pg_leakhunt.sample_interval = 1; SELECT allocate_in_critical_section(100, 100000);" | start_session fault_samples
}

end_sessions() {
	run_psql -At -c "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name LIKE 'fault%'" >/dev/null
}

# Load the module no more.
unload_module() {
	stop_server
	echo "shared_preload_libraries = ''" | as_server tee -a "$scratch/data/postgresql.conf" >/dev/null
	start_server
}
