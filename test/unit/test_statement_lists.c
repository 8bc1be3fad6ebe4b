/*
 * test_statement_lists.c
 *	  Copies of the entries of the file of statements, and the largest call of a session.
 */
#include "postgres.h"

#include <unistd.h>

#include "nodes/pg_list.h"
#include "utils/timestamp.h"

static List *append(List *list, void *datum);

#define lappend append
#include "reader/statement_list.c"
#undef lappend

#include "backend.h"
#include "reader_tests.h"

#define CLUSTER 4711
#define ENTRIES 16
#define MB ((int64) 1024 * 1024)

/* What is listed: the roles of the entries. */
static Oid	listed[ENTRIES];
static int	listed_count;

/* There are no lists here. */
static List *
append(List *list, void *datum)
{
	const PlhListedStatement *statement = datum;

	listed[listed_count++] = statement->entry.role_oid;
	pfree(datum);
	return list;
}

/* The call with the highest peak of a statement: of that session, begun and at its peak then. */
static PlhStatementEntry *
put_entry(int index, int pid, int64 peak_bytes, TimestampTz start, TimestampTz at)
{
	PlhStatementEntry *entry = &plh_statements_file->entries[index];

	entry->born = index + 1;
	entry->calls = 1;
	entry->role_oid = 10 + index % 2;
	entry->database_oid = 20;
	entry->max_pid = pid;
	entry->max_peak_bytes = peak_bytes;
	entry->max_start = start;
	entry->max_at = at;
	return entry;
}

static bool
may_see(Oid role)
{
	return role == 10;
}

/* The peak of the call that is found; 0 if none is. */
static int64
largest(const PlhStatementPeaks *peaks, int pid, TimestampTz started_at, TimestampTz since)
{
	const PlhStatementEntry *entry = plh_statement_list_session_peak(peaks, pid, started_at, since);
	int64		bytes = entry == NULL ? 0 : entry->max_peak_bytes;

	if (entry != NULL)
		pfree((void *) entry);
	return bytes;
}

static void
test_session_peaks(void)
{
	PlhStatementPeaks *peaks = plh_statement_list_peaks();

	ok(peaks->count == 5 && peaks->peaks[0].bytes == 9 * MB && peaks->peaks[4].bytes == MB,
	   "the highest peaks come first");
	ok(largest(peaks, 100, 500, 0) == 7 * MB, "of a session, the call that took most is found");
	ok(largest(peaks, 100, 1500, 0) == 3 * MB, "but none of a session before it that had its pid");
	ok(largest(peaks, 100, 500, 2150) == 7 * MB, "a call that began before a time had its peak after it");
	ok(largest(peaks, 100, 500, 2250) == 3 * MB && largest(peaks, 100, 500, 9999) == 0,
	   "what had its peak before that is not found");
	ok(largest(peaks, 101, 0, 0) == 9 * MB && largest(peaks, 102, 0, 0) == 0, "another session has others");
	plh_statements_file->entries[1].max_pid = 101;
	ok(largest(peaks, 100, 500, 0) == 3 * MB, "an entry that is another session's by now does not count");
	plh_statements_file->entries[1].max_pid = 100;
	pfree(peaks);
}

static void
test_copies(void)
{
	static PlhStatementEntry copy;
	PlhStatementEntry *entry = &plh_statements_file->entries[0];

	entry->text_bytes = PG_UINT32_MAX;
	entry->depth = PG_UINT32_MAX;
	memset(entry->context_name, 'x', sizeof(entry->context_name));
	ok(plh_statement_list_copy(&copy, 0) && copy.text_bytes == PLH_STATEMENT_MAX &&
	   copy.depth == PLH_STATEMENT_FRAMES && strlen(copy.context_name) == PLH_STATEMENT_CONTEXT_MAX,
	   "lengths that lead beyond an entry are cut");
	entry->calls = 0;
	ok(!plh_statement_list_copy(&copy, 0), "an entry without calls is none");
	entry->calls = 1;
	entry->text_bytes = entry->depth = 0;
	entry->context_name[0] = '\0';
}

void
test_statement_lists(void)
{
	char		directory[] = "/tmp/pg_leakhunt_lists.XXXXXX";
	PlhStatementFigures figures;

	if (mkdtemp(directory) == NULL)
		abort();
	ok(!plh_statement_list_figures(&figures) && figures.count == 0, "without a file there are no statements");
	plh_statements_file_start(directory, CLUSTER, ENTRIES, true);
	ok(plh_statements_file != NULL && plh_statements_file_grow(), "a file of statements is made");
	put_entry(0, 100, 3 * MB, 2000, 2300);
	put_entry(1, 100, 7 * MB, 1000, 2200);
	put_entry(3, 100, MB, 2000, 2100);
	put_entry(4, 101, 9 * MB, 2000, 2100);
	put_entry(5, 101, 8 * MB, 2000, 2100);
	plh_statements_file->evicted = 17;
	pg_atomic_write_u64(&plh_statements_file->lost, 18);
	ok(plh_statement_list_figures(&figures) && figures.count == 5 && figures.evicted == 17 &&
	   figures.lost == 18, "entries are counted, and what was given up and lost");
	test_session_peaks();
	test_copies();
	(void) list_entries(may_see);
	ok(listed_count == 2 && listed[0] == 10 && listed[1] == 10, "those of roles that may not be seen are not listed");
	plh_statements_file_unlink();
	plh_statements_file = NULL;
	(void) rmdir(directory);
}
