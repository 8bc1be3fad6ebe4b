/*
 * largest_statements.c
 *	  The statements with the highest peaks, as labels of what is stored every few seconds.
 *
 * There may be a hundred thousand of them: so peaks are compared first, and few entries are copied.
 */
#include "postgres.h"

#include "reader/database_text.h"
#include "report/largest_statements.h"
#include "report/one_line.h"

/* Is one that is called like that there already, with a higher peak? */
static bool
has(const PlhLargestStatements *largest, const PlhLargeStatement *statement)
{
	for (int i = 0; i < largest->count; i++)
	{
		const PlhLargeStatement *other = &largest->statements[i];

		if (other->query_id == statement->query_id &&
			plh_texts_are_same(other->query, statement->query))
			return true;
	}
	return false;
}

static void
add(PlhLargestStatements *largest, const PlhStatementEntry *entry)
{
	PlhLargeStatement statement = {.query_id = entry->query_id,.peak_bytes = entry->max_peak_bytes};

	if (entry->text_bytes > 0)
		statement.query = plh_one_line(plh_database_text_fit_foreign(entry->text, entry->text_bytes,
																	 entry->encoding),
									   PLH_STATEMENT_LABEL_MAX);
	if (!has(largest, &statement))
		largest->statements[largest->count++] = statement;
}

void
plh_largest_statements_find(PlhLargestStatements *largest, PlhRoleFilter may_see)
{
	PlhStatementPeaks *peaks = plh_statement_list_peaks();
	PlhStatementEntry *entry = palloc(sizeof(PlhStatementEntry));

	largest->count = 0;
	for (int i = 0; i < peaks->count && largest->count < PLH_LARGEST_STATEMENTS; i++)
		if (plh_statement_list_copy(entry, peaks->peaks[i].index) && may_see(entry->role_oid))
			add(largest, entry);
	pfree(entry);
	pfree(peaks);
}
