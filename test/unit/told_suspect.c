/*
 * told_suspect.c
 *	  A suspect of a session, and what is told of it.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "report/listed_site.h"
#include "report/words.h"
#include "reader/database_text.h"
#include "suspect_facts.h"
#include "told_suspect.h"
#include "telling/suspect_advice.h"
#include "telling/suspect_evidence.h"

/* The server's own words for sizes and times need the server. */
char *
plh_words_size(int64 bytes)
{
	return psprintf(INT64_FORMAT " B", bytes);
}

char *
plh_words_estimate(int64 bytes, int64 error_bytes)
{
	return error_bytes <= 0 ? plh_words_size(bytes) :
		psprintf(INT64_FORMAT " B (+/- " INT64_FORMAT " B)", bytes, error_bytes);
}

char *
plh_words_time(TimestampTz time)
{
	return psprintf("second " INT64_FORMAT, (time - SOME_TIME) / USECS_PER_SEC);
}

/* So do names; nobody asks for them here. */
char *
plh_database_text_fit_foreign(const char *text, Size bytes, int encoding)
{
	return pnstrdup(text, bytes);
}

void
plh_listed_site_start(PlhListedSite *listed, const PlhProfileImage *image,
					  const PlhSiteFacts *facts)
{
	memset(listed, 0, sizeof(*listed));
	listed->facts = *facts;
	listed->context_name = "ExecutorState";
}

/* Of each stack there are two frames: the first of them is two lines of one function. */
void
plh_listed_site_describe_stack(PlhListedSite *listed, PlhStackTexts *texts)
{
	static PlhFrameText frames[] = {
		{.text = "build_array (arrays.c:10)",.function = "build_array"},
		{.text = "build_array (arrays.c:20)",.function = "build_array"},
		{.text = "postgres+0x10",.module = "/pg/bin/postgres"},
		{.text = "json_agg_transfn (json.c:7)",.function = "json_agg_transfn"},
		{.text = "postgres+0x20",.module = "/pg/bin/postgres"},
		{.text = "json_agg_transfn (json.c:8)",.function = "json_agg_transfn"},
		{.text = "sort_rows (sorts.c:7)",.function = "sort_rows"},
		{.text = "sort_rows (sorts.c:7)",.function = "sort_rows"},
		{.text = "copy_row (rows.c:1)",.function = "copy_row"}
	};

	/* a stack of a profile is the last */
	listed->stack.frames = &frames[Min(listed->facts.site->key.stack, lengthof(frames) - 1)];
	listed->stack.frame_count = 2;
	listed->stack.site = listed->stack.frames[0].text;
}

const char *
plh_stack_text_base_name(const char *path)
{
	return strrchr(path, '/') + 1;
}

/* What is said of sites needs them described. */
PlhStackTexts *texts;

PlhProfileHeader header = {.pid = 123,.backend_type = B_BACKEND,.malloc_bytes = 7 * MB};
PlhProfileImage image = {.header = &header,.alive = true};
PlhSuspect	suspect;

/* Does the evidence have that text? */
bool
says(const char *text)
{
	PlhSuspectList list = {1, &suspect};
	const char *evidence = plh_suspect_evidence(&suspect, &list, &image, texts);

	if (strstr(evidence, text) != NULL)
		return true;
	printf("# %s\n", evidence);
	return false;
}

/* The site of whose stack the advice is; NULL: of none. */
PlhListedSite *listed;

PlhMallocStatement malloc_statement;

/* Is there that to do? */
bool
tells(const char *text)
{
	const char *next = plh_suspect_advice(&suspect, &image, listed, &malloc_statement);

	if (strstr(next, text) != NULL)
		return true;
	printf("# %s\n", next);
	return false;
}

void
suspect_site(PlhSuspectFacts facts)
{
	memset(&suspect, 0, sizeof(suspect));
	suspect.facts = facts;
	suspect.judgement = plh_suspect_judge(&facts);
}

/* A frame of a function, or without a name, in a binary. */
PlhFrameText
frame_in(const char *function, const char *module)
{
	return (PlhFrameText)
	{
		.text = function == NULL ? "postgres+0x660d32" : function,.function = function,.module = module
	};
}
