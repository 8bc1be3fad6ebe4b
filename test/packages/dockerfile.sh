# Shell functions that carry out a Dockerfile's instructions, where there is no Docker.
#
# The root in which this runs stands for the image that a stage is made from.  What
# another stage copies from it is kept in $BUILT/STAGE.

# The instructions of a Dockerfile, one a line: without comments, lines joined.
instructions() {
	sed -e '/^#/d' -e ':join' -e '/\\$/{N; s/\\\n[[:space:]]*/ /; b join}' "$1" | grep .
}

# The files that are copied from a stage to another.
copied_from() {
	local file="$1" stage="$2" words

	instructions "$file" | sed -n "s/^COPY --from=$stage //p" | while read -r -a words; do
		eval echo "${words[@]:0:$((${#words[@]} - 1))}"
	done
}

# Copy files or the contents of folders to where COPY puts them.
copy() {
	local to="${!#}" source

	for source in "${@:1:$(($# - 1))}"; do
		if [ -d "$source" ]; then
			mkdir -p "$to"
			cp -a "$source/." "$to"
		elif [ "${to%/}" != "$to" ]; then
			mkdir -p "$to"
			cp "$source" "$to"
		else
			cp "$source" "$to"
		fi
	done
}

# Carry out the stage that has this name; "last" is the one without.  What is copied goes
# below the folder $3, the command that CMD names is put into the array "command".
run_stage() {
	local file="$1" wanted="$2" target="${3:-}" stage="" instruction rest words from

	while read -r instruction rest; do
		case $instruction in
			FROM) stage=$(sed -n 's/.* AS //p' <<<"$rest"); stage=${stage:-last} ;;
			# what is in the environment counts
			ARG) [[ $rest != *=* ]] || [ -n "$(printenv "${rest%%=*}")" ] || export "$rest" ;;
		esac
		[ "$stage" = "$wanted" ] || continue
		case $instruction in
			FROM | ARG | USER) ;;
			RUN) bash -euc "$rest" >/tmp/run.log 2>&1 || { tail -n 30 /tmp/run.log; return 1; } ;;
			COPY)
				eval "words=($rest)"
				from=/tmp/pg_leakhunt/
				[[ ${words[0]} != --from=* ]] || { from="$BUILT/${words[0]#--from=}"; words=("${words[@]:1}"); }
				words=("${words[@]/#/$from}")
				words[-1]="$target${words[-1]#"$from"}"
				copy "${words[@]}" || return 1
				;;
			CMD) eval "command=($(tr -d '[],' <<<"$rest"))" ;;
			*) echo "Nobody knows how to do $instruction."; return 1 ;;
		esac
	done < <(instructions "$file")
}

# Keep what other stages copy from the one that was carried out last.
keep_stage() {
	local file="$1" stage="$2" path

	rm -rf "${BUILT:?}/$stage"
	for path in $(copied_from "$file" "$stage"); do
		mkdir -p "$BUILT/$stage$(dirname "$path")"
		cp -a "$path" "$BUILT/$stage$path"
	done
}
