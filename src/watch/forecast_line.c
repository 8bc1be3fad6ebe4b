/*
 * forecast_line.c
 *	  The line in the server's log that tells when memory will run out.
 *
 * Memory is short when it is written: the profile of the process that grows is read for it only
 * where there is room for that.
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "process/profile_directory.h"
#include "process/top_site.h"
#include "reader/profile_reader.h"
#include "report/death_text.h"
#include "report/one_line.h"
#include "telling/forecast_words.h"
#include "watch/forecast_line.h"

/* The most characters of a statement that are shown. */
#define STATEMENT_COLUMNS 200

/* The largest profile has no more than a part of that by default. */
#define LEAST_ROOM_BYTES INT64CONST(33554432)

/* Whom the process that grows works for, and its statement, as far as its profile tells. */
static void
append_process(StringInfo detail, int pid)
{
	PlhProfileImage *image = plh_profile_reader_find(plh_profile_directory_path(), pid, false);
	PlhTopSite	top;
	const char *names;

	if (image == NULL || !image->alive)
		return;
	names = plh_death_text_names(image->header);
	appendStringInfo(detail, "  Process %d: %s%s%s.", pid, plh_profile_image_backend_type(image),
					 names[0] == '\0' ? "" : ", ", names);
	if (plh_top_site_find(&top, image, PLH_TOP_NOW) && top.statement != NULL &&
		top.statement->text_bytes > 0)
		appendStringInfo(detail, "  The statement that holds most: %s",
						 plh_one_line(pnstrdup(top.statement->text, top.statement->text_bytes),
									  STATEMENT_COLUMNS));
}

void
plh_forecast_line_log(const PlhControlForecast *facts)
{
	PlhSaid		whole;
	StringInfoData detail;

	plh_sentences_begin(&whole);
	plh_forecast_words_say_detail(&whole, facts);
	initStringInfo(&detail);
	appendStringInfoString(&detail, whole.text.data);
	if (facts->pid != 0 && facts->room_bytes >= LEAST_ROOM_BYTES)
		append_process(&detail, facts->pid);
	ereport(LOG, (errmsg_internal("%s", plh_forecast_words_headline(facts)),
				  errdetail_internal("%s", detail.data),
				  facts->pid == 0 ? 0 :
				  errhint("SELECT pg_terminate_backend(%d) ends process %d.  SELECT explanation FROM pg_leakhunt_explain(%d) tells what holds its memory.",
						  facts->pid, facts->pid, facts->pid)));
}
