/*
 * crash_report.c
 *	  What the log says of processes that crashed, with the names of functions.
 */
#include "postgres.h"

#include <signal.h>

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"

#include "base/size_units.h"
#include "report/crash_report.h"
#include "report/death_text.h"
#include "report/listed_site.h"
#include "report/words.h"

/* A statement is shown up to these bytes. */
#define SHOWN_STATEMENT_BYTES 200

/* The site that held most in the end.  Returns false if none held anything. */
static bool
find_largest(const PlhProfileImage *image, PlhSiteFacts *largest)
{
	PlhSiteFacts facts;
	uint32		position = 0;
	int64		most_bytes = 0;

	while (plh_site_facts_next(&facts, image, NULL, &position))
	{
		if (facts.counters->live_bytes <= most_bytes)
			continue;
		most_bytes = facts.counters->live_bytes;
		*largest = facts;
	}
	return most_bytes > 0;
}

/* Append at which call site most of what was sampled was allocated. */
static void
append_site(StringInfo detail, const PlhListedSite *largest, int64 sampled_bytes)
{
	double		part = Min(1.0, (double) largest->bytes / sampled_bytes);
	const char *routine = plh_stack_text_routine(&largest->stack);

	appendStringInfo(detail, "  By call site: %d%% of what was sampled at %s in %s",
					 (int) (100 * part + 0.5), largest->stack.site,
					 largest->context_name != NULL ?
					 largest->context_name : PLH_NO_CONTEXT_NAME);
	if (routine != NULL)
		appendStringInfo(detail, ", allocated in %s", routine);
	appendStringInfoChar(detail, '.');
}

/* Append what the process has counted last, as explanations do, and what came since. */
static void
append_counts(StringInfo detail, const PlhProfileHeader *header, const PlhHeldBytes *held)
{
	if (header->census_at == 0)
		return;
	appendStringInfo(detail, "  Last counted at %s: %s in memory contexts",
					 plh_words_time(header->census_at),
					 plh_words_size(header->context_bytes));
	if (header->malloc_bytes >= 0)
		appendStringInfo(detail, ", %s allocated with malloc outside of them",
						 plh_words_size(Max(0, header->malloc_bytes - header->context_bytes)));
	appendStringInfo(detail, ", %s of private memory%s.", plh_words_size(header->own_bytes),
					 header->own_bytes < plh_profile_image_counted_bytes(header) ?
					 " (pages that were written to)" : "");
	if (held->gained_bytes != 0)
		appendStringInfo(detail, "  By its samples it %s %s since then, which makes %s.",
						 held->gained_bytes > 0 ? "gained" : "lost",
						 plh_words_size(Max(held->gained_bytes, -held->gained_bytes)),
						 plh_words_size(held->bytes));
}

/* Append the peaks that were higher than what it had in the end. */
static void
append_peaks(StringInfo detail, const PlhProfileHeader *header, const PlhHeldBytes *held)
{
	if (header->peak_bytes > held->bytes + held->error_bytes)
		appendStringInfo(detail, "  Its peak was %s (estimated from samples) at %s.",
						 plh_words_size(header->peak_bytes),
						 plh_words_time(header->peak_at));
	if (header->own_peak_bytes > header->own_bytes)
		appendStringInfo(detail, "  Its private memory was at most %s when it was counted, at %s.",
						 plh_words_size(header->own_peak_bytes),
						 plh_words_time(header->own_peak_at));
}

/* The text of the statement whose memory that is, cut; NULL if there is none. */
static const char *
shown_statement(const PlhListedSite *largest, int encoding)
{
	const char *query = largest != NULL ? largest->query : NULL;

	if (query == NULL)
		return NULL;
	if (!PG_VALID_BE_ENCODING(encoding))
		encoding = PG_SQL_ASCII;
	return pnstrdup(query, pg_encoding_mbcliplen(encoding, query, strlen(query),
												 SHOWN_STATEMENT_BYTES));
}

/* The detail: for whom the process worked, what it held, and the statement. */
static char *
make_detail(const PlhProfileHeader *header, const PlhListedSite *largest, const PlhHeldBytes *held)
{
	const char *names = plh_death_text_names(header);
	const char *statement = shown_statement(largest, header->encoding);
	StringInfoData detail;

	initStringInfo(&detail);
	appendStringInfo(&detail, "It crashed at %s.", plh_words_time(header->death.at));
	if (names[0] != '\0')
		appendStringInfo(&detail, "  It worked for %s.", names);
	if (largest != NULL)
		append_site(&detail, largest, header->counters.live_bytes);
	append_counts(&detail, header, held);
	append_peaks(&detail, header, held);
	if (statement != NULL)
		appendStringInfo(&detail, "  Statement: %s", statement);
	return detail.data;
}

/* What it held, with the error of what is an estimate. */
static const char *
held_text(const PlhHeldBytes *held)
{
	const char *bytes = plh_words_size(held->bytes);

	if (held->error_bytes == 0)
		return bytes;
	return psprintf("%s (+/- %s)", bytes,
					plh_size_units_error(held->error_bytes, held->bytes).text);
}

/* The hint: who may have sent the signal, and where there is more. */
static char *
make_hint(const PlhProfileHeader *header, const char *dump_path)
{
	const char *separator = dump_path != NULL ? strrchr(dump_path, '/') : NULL;
	StringInfoData hint;

	initStringInfo(&hint);
	if (plh_death_kind(&header->death) == PLH_DEATH_SIGNAL && header->death.number == SIGKILL)
		appendStringInfoString(&hint, "Signal 9 often comes from the kernel's OOM killer, when memory runs out: the kernel's log tells that.  ");
	appendStringInfo(&hint, "SELECT explanation FROM pg_leakhunt_explain(%d) says more until the server is restarted.",
					 header->pid);
	if (dump_path != NULL)
		appendStringInfo(&hint, "  SELECT * FROM pg_leakhunt_report('%s') shows the call sites.",
						 separator != NULL ? separator + 1 : dump_path);
	return hint.data;
}

/*
 * Say in the log what a process held that the crash began with.
 */
void
plh_crash_report_cause(const PlhProfileImage *image, const char *dump_path,
					   bool (*must_stop) (void))
{
	const PlhProfileHeader *header = image->header;
	PlhHeldBytes held = plh_profile_image_held_bytes(header);
	PlhSiteFacts facts;
	PlhListedSite site;
	PlhListedSite *largest = NULL;

	if (header->counters.live_bytes > 0 && find_largest(image, &facts))
	{
		largest = &site;
		plh_listed_site_start(largest, image, &facts);
		plh_listed_site_describe_stack(largest,
									   plh_stack_text_open(plh_symbols_open_until(must_stop),
														   image));
	}
	ereport(LOG, (errmsg("process %d (%s) crashed, %s; it held %s",
						 header->pid, plh_profile_image_backend_type(image),
						 plh_death_text(&header->death), held_text(&held)),
				  errdetail_internal("%s", make_detail(header, largest, &held)),
				  errhint("%s", make_hint(header, dump_path))));
}
