/*
 * maintenance.c
 *	  Which statements maintain tables, and may take maintenance_work_mem.
 *
 * This code runs inside palloc.
 */
#include "postgres.h"

#include "profile/maintenance.h"

/* Statements that begin with these words may build an index, or vacuum. */
static const char *const maintaining_words[] = {
	"alter index", "alter materialized view", "alter table", "analyze",
	"cluster", "create index", "create unique index", "reindex", "refresh",
	"repack", "vacuum"
};

bool
plh_maintenance_begins_with(const char *text, Size bytes, const char *const *words, int count)
{
	for (int i = 0; i < count; i++)
	{
		Size		length = strlen(words[i]);

		if (bytes >= length && pg_strncasecmp(text, words[i], length) == 0)
			return true;
	}
	return false;
}

bool
plh_maintenance_is_statement(const char *text, Size bytes)
{
	Size		blanks = 0;

	while (blanks < bytes && strchr(" \t\r\n(", text[blanks]) != NULL)
		blanks++;
	return plh_maintenance_begins_with(text + blanks, bytes - blanks, maintaining_words,
									   lengthof(maintaining_words));
}
