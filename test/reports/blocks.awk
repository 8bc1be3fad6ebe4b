# Writes the statements of a report, and what it says that they return, to files in the folder
# "into": N.sql, of those that are measured also N.before and N.after.
#
# Such a statement stands below "<!-- measured -->", with what it returns without the patch, and
# then with it.  Other statements that can be run stand below "<!-- run -->".

/^<!-- (measured|run) -->$/ {
	parts = split($2 == "measured" ? "sql before after" : "sql", names)
	part = 0
	number++
	next
}

/^```/ && !inside && part < parts {
	inside = 1
	part++
	file = sprintf("%s/%02d.%s", into, number, names[part])
	printf "" >file
	next
}

/^```$/ && inside {
	inside = 0
	close(file)
	next
}

inside { print >file }
