# Functions of scripts that listen at the USDT probes of pg_leakhunt with bpftrace.  They need root,
# and a kernel with uprobes and BPF.

# Start bpftrace with clauses for the probes "alloc" and "free", for all processes that have the
# module or will have it, and wait until it listens.  What it prints goes to $scratch/events.  Fails
# if it does not listen; $scratch/listener.log says why.
#
# It wants a tracefs, which is mounted for itself only.  As it works in $scratch, clean_up ends it.
listen() {
	local provider="usdt:$("$pg_config" --pkglibdir)/pg_leakhunt.so:otel_memory"
	local program="BEGIN { printf(\"listening\n\"); }" clause

	for clause in "$@"; do
		program+=" $provider:$clause"
	done
	: >"$scratch/events"
	(cd "$scratch" && exec "${as_root[@]}" unshare -m bash -c '
		[ -e /sys/kernel/tracing/events ] || mount -t tracefs none /sys/kernel/tracing
		BPFTRACE_PERF_RB_PAGES=4096 exec bpftrace -B line -e "$1"' listen "$program") \
		>"$scratch/events" 2>"$scratch/listener.log" &
	listener=$!
	for _ in $(seq 600); do
		! grep -q listening "$scratch/events" || return 0
		kill -0 "$listener" 2>/dev/null || break
		sleep 0.1
	done
	return 1
}

# At its end it prints what it has kept.
stop_listening() {
	"${as_root[@]}" kill -INT "$listener"
	wait "$listener" || true
}
