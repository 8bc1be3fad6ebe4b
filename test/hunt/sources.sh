# Shell functions for the sources and packages of other people's extensions, which
# test/hunt/extensions lists; to be read after lib.sh and source.sh.
#
# They work in $scratch, with the copy of a server of the version $major; what they print goes
# to $log.

# A source list that has the sources of the releases that this machine has packages of.
list_sources() {
	sources="$cache/hunt/sources"
	"${as_root[@]}" mkdir -p "$sources/lists/partial"
	apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
		sort -u | "${as_root[@]}" tee "$sources/list" >/dev/null
	apt_sources=(-o "Dir::Etc::SourceList=$sources/list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$sources/lists")
	[ -n "$(find "$sources/lists" -name '*Sources*' -mtime -1)" ] ||
		"${as_root[@]}" apt-get "${apt_sources[@]}" update -q >/dev/null
}

# Copy the source of a package, with Debian's patches, to the folder $work.
take_packaged_source() {
	local package="postgresql-$major-$1" kept="$cache/hunt/src.$1"

	if [ -d "${SOURCES:-/none}/$1" ]; then
		cp -r "$SOURCES/$1" "$work"
		return
	fi
	if [ ! -e "$kept/.complete" ]; then
		"${as_root[@]}" rm -rf "$kept"
		"${as_root[@]}" mkdir -p "$kept"
		(cd "$kept" && "${as_root[@]}" apt-get "${apt_sources[@]}" source -q "$package") >"$log" 2>&1 || return 1
		"${as_root[@]}" touch "$kept/.complete"
	fi
	cp -r "$(find "$kept" -mindepth 1 -maxdepth 1 -type d)" "$work"
}

# Files such as postgis-3.control get the names that Debian's alternatives give them.
name_control_files() {
	local file

	for file in "$("$pg_config" --sharedir)"/extension/*-[0-9].control; do
		[ ! -e "$file" ] || cp -n "$file" "${file%-[0-9].control}.control"
	done
}

# Unpack a package into the copy of the server, and the libraries that it needs and that are
# not installed into $scratch/libraries.
take_package() {
	local unpacked="$scratch/unpacked" folder="$scratch/packages" file

	mkdir -p "$folder" "$unpacked" "$scratch/libraries"
	(cd "$folder" && apt-get download -q "$1" \
		$(apt-get -s install --no-install-recommends "$1" | sed -n 's/^Inst \([^ ]*\) .*/\1/p' | grep -vx "$1") ||
		true) >"$log" 2>&1
	for file in "$folder"/*.deb; do
		[ -e "$file" ] || return 1
		dpkg -x "$file" "$unpacked"
		rm "$file"
	done
	[ ! -d "$unpacked/usr/lib/postgresql/$major/lib" ] ||
		cp -r "$unpacked/usr/lib/postgresql/$major/lib/." "$("$pg_config" --pkglibdir)"
	[ ! -d "$unpacked/usr/share/postgresql/$major" ] ||
		cp -r "$unpacked/usr/share/postgresql/$major/." "$("$pg_config" --sharedir)"
	name_control_files
	find "$unpacked" '(' -type f -o -type l ')' -name '*.so*' -not -path '*/postgresql/*' -exec cp -P --remove-destination {} "$scratch/libraries" \;
	rm -rf "$unpacked"
}

# PostgreSQL's own tests have functions in C, and use those of contrib/spi: all of them in the
# folder of the tests.
build_regress_library() {
	local folder="$1"

	[ -e "$folder/regress.c" ] || return 0
	gcc -O2 -fPIC -shared -I"$("$pg_config" --includedir-server)" -o "$folder/regress.so" "$folder/regress.c"
	cp "$("$pg_config" --pkglibdir)"/{autoinc,refint}.so "$folder"
}

# Copy the source of an extension to the folder $work.  $name, $package and $folder are of its
# line; $folder becomes that of its tests in $work.
take_tests() {
	work="$scratch/work"
	rm -rf "$work"
	if [ "$package" = contrib ]; then
		[ -e "$source/$folder" ] || { echo "not in PostgreSQL $major" >"$log"; return 1; }
		cp -r "$source/$folder" "$work"
		folder=.
	else
		take_package "postgresql-$major-$package" && take_packaged_source "$package" || return 1
	fi
	build_regress_library "$work/$folder"
	give_to_server "$work"
}
