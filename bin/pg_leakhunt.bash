# Completion of pg_leakhunt's programs in bash.  The options are those of their help texts, so
# that nothing has to change here when a program gets another one.

# The options in the help text of a program.
_pg_leakhunt_options() {
	"$@" --help 2>/dev/null | grep -oE -- '(^|[^[:alnum:]-])--[a-z][a-z-]*' | grep -oE -- '--.*' | sort -u
}

# The words that may come here, one in a line: after an option that takes a value, the values; else options,
# and the arguments of this program.
_pg_leakhunt_words() {
	local program="$1" previous="$2"

	case "$previous" in
		--format) printf '%s\n' text json html; return ;;
		--as) printf '%s\n' ingest push otel files; return ;;
		-D | --inputdir | --outputdir | --expecteddir | --bindir | --dlpath | --temp-instance) return ;;
		--log | --rows | --core | --binary | --schedule | --suppressions | --temp-config | --junit | --*-file) return ;;
	esac
	case "${program##*/}" in
		pg_leakhunt_attach | pg_leakhunt_look) _pg_leakhunt_options "$program"; pgrep -x postgres ;;
		pg_leakhunt_export)
			case " ${COMP_WORDS[*]:1:COMP_CWORD-1} " in
				*" push "*) _pg_leakhunt_options "$program" push ;;
				*" serve "*) _pg_leakhunt_options "$program" serve ;;
				*) _pg_leakhunt_options "$program"; printf '%s\n' push serve ;;
			esac ;;
		pg_leakhunt_regress)
			_pg_leakhunt_options "$program"
			# a name with other characters would need quotes
			[ ! -d sql ] || find sql -maxdepth 1 -name '*.sql' -printf '%f\n' |
				sed -n 's/^\([[:alnum:]_.-]*\)\.sql$/\1/p' ;;
		*) _pg_leakhunt_options "$program" ;;
	esac
}

_pg_leakhunt() {
	local current="$2" previous="$3" word

	# "--format=js" is three words to bash
	if [ "$current" = = ]; then
		current=""
	elif [ "$previous" = = ]; then
		previous=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	COMPREPLY=()
	# not by compgen -W, which runs what stands in the words
	while IFS= read -r word; do
		[[ $word != "$current"* ]] || COMPREPLY+=("$word")
	done < <(_pg_leakhunt_words "$1" "$previous")
}

# where no word is proposed, bash proposes files
complete -o default -F _pg_leakhunt \
	pg_leakhunt_attach pg_leakhunt_demo pg_leakhunt_export pg_leakhunt_look pg_leakhunt_regress pg_leakhunt_remove
