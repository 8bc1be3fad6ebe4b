/*
 * crash_report.c
 *	  What the log and the dumps say of processes that crashed, with the names of
 *	  functions.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/timestamp.h"

#include "report/crash_report.h"
#include "report/death_text.h"
#include "report/dump_symbols.h"
#include "report/listed_site.h"

/* A statement is shown up to these bytes. */
#define SHOWN_STATEMENT_BYTES 200

/* Begin to look up names for so long. */
static PlhSymbols *
open_symbols(bool (*must_stop) (void))
{
	PlhSymbols *symbols = plh_symbols_open();

	plh_symbols_limit(symbols, must_stop);
	return symbols;
}

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

/* Append what the samples say: all, and the site that held most. */
static void
append_samples(StringInfo line, const PlhProfileHeader *header,
			   const PlhListedSite *largest)
{
	appendStringInfo(line, "it held ~%lld bytes that were sampled",
					 (long long) header->counters.live_bytes);
	if (largest != NULL)
		appendStringInfo(line, ", ~%lld of them by %s in %s",
						 (long long) largest->bytes, largest->stack.site,
						 largest->context_name != NULL ?
						 largest->context_name : "[no context]");
}

/* Append what the process has counted last, and its peak. */
static void
append_counts(StringInfo line, const PlhProfileHeader *header)
{
	if (header->census_at != 0)
	{
		appendStringInfo(line, "; at %s, %lld bytes in memory contexts",
						 timestamptz_to_str(header->census_at),
						 (long long) header->context_bytes);
		if (header->malloc_bytes >= 0)
			appendStringInfo(line, ", %lld bytes from malloc with these",
							 (long long) header->malloc_bytes);
		appendStringInfo(line, ", %lld bytes of private memory",
						 (long long) header->own_bytes);
	}
	appendStringInfo(line, "; %lld bytes at its peak",
					 (long long) plh_profile_image_peak_bytes(header));
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
	return pnstrdup(query, pg_encoding_mbcliplen(encoding, query,
												 strlen(query),
												 SHOWN_STATEMENT_BYTES));
}

/*
 * Say in the log what a process held that the crash began with.
 */
void
plh_crash_report_cause(const PlhProfileImage *image, bool (*must_stop) (void))
{
	const PlhProfileHeader *header = image->header;
	PlhSiteFacts facts;
	PlhListedSite site;
	PlhListedSite *largest = NULL;
	const char *names = plh_death_text_names(header);
	const char *statement;
	StringInfoData line;

	if (find_largest(image, &facts))
	{
		largest = &site;
		plh_listed_site_start(largest, image, &facts);
		plh_listed_site_describe_stack(largest,
									   plh_stack_text_open(open_symbols(must_stop),
														   image));
	}
	initStringInfo(&line);
	appendStringInfo(&line, "process %d (%s%s%s) crashed at %s, %s; ",
					 header->pid, plh_profile_image_backend_type(image),
					 names[0] != '\0' ? ", " : "", names,
					 timestamptz_to_str(header->death.at),
					 plh_death_text(&header->death));
	append_samples(&line, header, largest);
	append_counts(&line, header);
	statement = shown_statement(largest, header->encoding);
	ereport(LOG,
			(errmsg_internal("%s", line.data),
			 statement != NULL ? errdetail("Statement: %s", statement) : 0));
}

/*
 * Make the symbols that the dump of a process brings along.
 */
void
plh_crash_report_add_symbols(const PlhProfileImage *image,
							 PlhDumpExtras *extras, bool (*must_stop) (void))
{
	plh_dump_symbols_make(open_symbols(must_stop), image, extras);
}
