/*
 * seen_calls.c
 *	  What calls of one statement have taken, of all roles in a database that may be seen.
 */
#include "postgres.h"

#include <ctype.h>
#include <math.h>

#include "miscadmin.h"

#include "profile/statement_shape.h"
#include "profile/statement_text.h"
#include "profile/statements_file.h"
#include "reader/seen_calls.h"
#include "reader/statement_list.h"

/* The statement that is looked for. */
typedef struct Wanted
{
	uint64		query_id;
	PlhStatementShape shape;	/* of its text as sessions keep it */
} Wanted;

/* How long a text is without what may stand behind a statement. */
static Size
trimmed(const char *text, Size length)
{
	while (length > 0 && (text[length - 1] == ';' || isspace((unsigned char) text[length - 1])))
		length--;
	return length;
}

static void
set_wanted(Wanted *wanted, uint64 query_id, const char *text, Size text_bytes)
{
	char		kept[PLH_STATEMENT_MAX + 1];
	Size		length = plh_statement_text_keep(kept, text, text_bytes);

	wanted->query_id = query_id;
	plh_statement_shape_of(&wanted->shape, kept, trimmed(kept, length));
}

/* Is that an entry of it?  Sessions may have run it before the server computed query ids. */
static bool
is_wanted(const Wanted *wanted, const PlhStatementEntry *entry)
{
	return entry->database_oid == MyDatabaseId &&
		(entry->query_id != 0 ? entry->query_id == wanted->query_id :
		 plh_statement_shape_equals(&wanted->shape, entry->text,
									trimmed(entry->text, entry->text_bytes)));
}

static void
add_entry(PlhSeenCalls *seen, PlhPeakHistogram *peaks, const PlhStatementEntry *entry)
{
	seen->calls += entry->calls;
	plh_peak_histogram_add(peaks, &entry->peaks);
	if (entry->max_peak_bytes <= seen->max_peak_bytes)
		return;
	seen->max_peak_bytes = entry->max_peak_bytes;
	seen->error_bytes = entry->error_bytes;
	seen->max_at = entry->max_at;
}

/*
 * The median, with the error of the estimate of a call of that size: that of the highest one is
 * known, and errors grow with the root of sizes.
 */
static void
set_median(PlhSeenCalls *seen, const PlhPeakHistogram *peaks)
{
	double		part;

	seen->median = plh_peak_histogram_median(peaks, seen->max_peak_bytes);
	if (seen->calls == 1)
		seen->median = (PlhPeakMedian)
	{
		seen->max_peak_bytes, 0
	};
	part = (double) seen->median.bytes / Max(seen->max_peak_bytes, 1);
	seen->median.error_bytes += (int64) (seen->error_bytes * sqrt(part));
}

void
plh_seen_calls_read(PlhSeenCalls *seen, uint64 query_id, const char *text, Size text_bytes,
					PlhRoleFilter may_see)
{
	uint32		reserved = plh_statements_file == NULL ? 0 : plh_statements_file_reserved();
	PlhStatementEntry *entry = palloc(sizeof(PlhStatementEntry));
	PlhPeakHistogram peaks = {0};
	Wanted		wanted;

	memset(seen, 0, sizeof(*seen));
	set_wanted(&wanted, query_id, text, text_bytes);
	for (uint32 i = 0; i < reserved; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (plh_statements_file->entries[i].born != 0 &&
			plh_statement_list_copy(entry, i) && may_see(entry->role_oid) &&
			is_wanted(&wanted, entry))
			add_entry(seen, &peaks, entry);
	}
	pfree(entry);
	if (seen->calls > 0)
		set_median(seen, &peaks);
}
