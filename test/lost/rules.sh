# Shell functions that compare what was lost with the table of doc/found.md; to be read after
# lib.sh.

unexplained=0

# The rules of the table: a context's name and a pattern of kinds, each line; or of a number of
# chunks of a kind, as "1 of 128 bytes".
rules() {
	sed -n '/^## What PostgreSQL.s own tests lose/,/^## [^W]/p' "$top/doc/found.md" |
		sed -n 's/^| `\([^`]*\)` | `\([^`]*\)` |.*/\1|\2/p'
}

is_explained() {
	local context kind chunks="$3"

	while IFS='|' read -r context kind; do
		[ "$context" = "$1" ] && [[ $2 == $kind || "$chunks of $2" == $kind ]] && return 0
	done < <(rules)
	return 1
}

# What was found in one file: kinds only, as sites are of the same memory.
judge_file() {
	local file="$1" context kind chunks bytes content

	while IFS='|' read -r context kind chunks bytes content; do
		[ "$context" != proven ] && [[ $kind != "site "* ]] || continue
		lost_bytes=$((lost_bytes + bytes))
		is_explained "$context" "$kind" "$chunks" || {
			echo "$name, $(basename "$file"): $bytes bytes lost in \"$context\", $chunks of \"$kind\"${content:+: $content}"
			unexplained=$((unexplained + 1))
		}
	done <"$file"
}

fail_if_unexplained() {
	[ "$unexplained" = 0 ] ||
		fail "Not explained by doc/found.md, \"What PostgreSQL's own tests lose\": $unexplained rows.  See $logs."
}
