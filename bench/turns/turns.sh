# Shell functions of benchmarks in which sessions of several kinds of servers take turns.
#
# The caller has the array "kinds", with whose first the others are compared, and the
# functions title_of, environment_of and settings_of, which print the name of a kind,
# what its servers have in their environment, and their settings.
#
# All servers run at once, on one processor, and only one session works at a time: what
# else the machine does disturbs all kinds alike.  They start anew again and again, as a
# server passes the layout of its memory on to its sessions, and with it some luck.  Each
# round has as many starts as there are kinds, and another one is first in each: on a
# virtual machine the two servers that start first may be faster by a third than others.

# The last processor that we may use.
processor=$(taskset -cp $$ | sed 's/.*[^0-9]//')

# Make a cluster of each kind from the one in $scratch/data, and the program.
make_kinds() {
	local kind

	for kind in "${kinds[@]}"; do
		as_server mkdir "$scratch/$kind"
		as_server cp -a "$scratch/data" "$scratch/$kind/data"
		echo "unix_socket_directories = '$scratch/$kind'" | as_server tee -a "$scratch/$kind/data/postgresql.conf" >/dev/null
	done
	rm -rf "$scratch/data"
	as_server cp "$top/bench/turns/turns.c" "$scratch"
	as_server gcc -O2 -Werror -I"$("$pg_config" --includedir)" -o "$scratch/turns" "$scratch/turns.c" \
		-L"$("$pg_config" --libdir)" -lpq
	trap 'status=$?; set +e; stop_kinds; (exit $status); clean_up' EXIT
}

# Start the servers of all kinds, that one first.
start_kinds() {
	local first="$1" kind

	for kind in "${kinds[@]:first}" "${kinds[@]:0:first}"; do
		as_server taskset -c "$processor" env $(environment_of "$kind") "$bindir/pg_ctl" -D "$scratch/$kind/data" \
			-l "$scratch/$kind/log" -w -o "$(settings_of "$kind")" start >/dev/null || fail "A server did not start."
	done
}

# Those that run; also when the script ends early.
stop_kinds() {
	local kind

	for kind in "${kinds[@]}"; do
		[ ! -e "$scratch/$kind/data/postmaster.pid" ] ||
			as_server "$bindir/pg_ctl" -D "$scratch/$kind/data" -m fast -w stop >/dev/null || true
	done
}

# In a number of rounds, each after a start, do what a function does, which takes turns,
# and show what comes of it.
take_rounds() {
	take_starts "$@" | summarize_turns | compare_turns
}

# The same, and print the lines of all starts.
take_starts() {
	local rounds="$1" measure="$2" first

	for _ in $(seq "$rounds"); do
		for first in "${!kinds[@]}"; do
			start_kinds "$first"
			"$measure"
			stop_kinds
		done
	done
}

# Let the sessions of all kinds do the work in turns: lines of the name, the kind's
# number, and the lower quartile of its figures, as what disturbs only ever adds to them.
take_turns() {
	run_turns "$@" | awk -v name="$1" -v turns="$2" '
		$2 != kind { kind = $2; n = 0 }
		++n == int((turns + 3) / 4) { print name, $2, $3 }'
}

# The same with the mean of all figures but the highest fiftieth: what is done now and then
# counts, too.
take_turns_now_and_then() {
	run_turns "$@" | awk -v name="$1" -v turns="$2" '
		$2 != kind { kind = $2; n = 0; sum = 0 }
		++n <= int(turns * 0.98) { sum += $3 }
		n == int(turns * 0.98) { print name, $2, sum / n }'
}

# Lines of turn, kind and figure, by kind and figure.
run_turns() {
	local turns="$2" work="$3" kind connections=()

	for kind in "${kinds[@]}"; do
		connections+=("host=$scratch/$kind dbname=postgres")
	done
	as_server taskset -c "$processor" "$scratch/turns" "$turns" "$work" "${connections[@]}" |
		sort -k2,2n -k3,3g
}

# Of the lines of all starts, one for each work and kind: the work, the kind, the figure,
# its ratio to that of the first kind, and the least and the most of the ratios.  The
# figure of a round is the mean of its starts, and that of all, as of the ratios, is the
# median of the rounds.
summarize_turns() {
	awk -v all="${kinds[*]}" '
		function median(values, n,    i, j, t) {
			for (i = 2; i <= n; i++)
				for (j = i; j > 1 && values[j - 1] > values[j]; j--) {
					t = values[j]; values[j] = values[j - 1]; values[j - 1] = t
				}
			return (values[int((n + 1) / 2)] + values[int(n / 2) + 1]) / 2
		}
		!($1 in seen) { seen[$1] = 1; names[++count] = $1 }
		BEGIN { kinds = split(all, kind, " ") }
		{
			n = ++starts[$1, $2]
			rounds[$1, $2] = int((n - 1) / kinds) + 1
			figures[$1, $2, rounds[$1, $2]] += $3 / kinds
		}
		END {
			for (i = 1; i <= count; i++)
				for (k = 0; k < kinds; k++) {
					n = rounds[names[i], k]
					for (r = 1; r <= n; r++) {
						f[r] = figures[names[i], k, r]
						q[r] = f[r] / figures[names[i], 0, r]
					}
					figure = median(f, n)
					ratio = median(q, n)
					print names[i], kind[k + 1], figure, ratio, q[1], q[n]
				}
		}'
}

# A table of these lines.
compare_turns() {
	local work kind figure ratio least most

	printf "%13s  %-28s %9s %8s   %s\n" "" "" "figure" "ratio" "[least to most]"
	while read -r work kind figure ratio least most; do
		printf "%13s  %-28s %9.2f %8.3f   [%.3f to %.3f]\n" "$work" "$(title_of "$kind")" "$figure" "$ratio" "$least" "$most"
	done
}
