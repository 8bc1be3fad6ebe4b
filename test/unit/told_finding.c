/*
 * told_finding.c
 *	  A finding on a session, and what is told of it.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "report/listed_site.h"
#include "report/words.h"
#include "reader/database_text.h"
#include "suspect_facts.h"
#include "telling/advice.h"
#include "telling/finding_evidence.h"
#include "told_finding.h"

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

char *
plh_database_text_fit(const char *text)
{
	return pstrdup(text);
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

const char *
plh_stack_text_function_name(const PlhFrameText *frame)
{
	return frame->function != NULL ? frame->function : frame->text;
}

/* The function that most of a finding was allocated in or below, where a test sets one. */
const PlhSharedFunction *shared_function;

bool
plh_shared_function_find(PlhSharedFunction *shared, const PlhShare *shares, int count,
						 const PlhProfileImage *of_image, PlhStackTexts *of_texts)
{
	if (shared_function != NULL)
		*shared = *shared_function;
	return shared_function != NULL;
}

PlhProfileHeader header = {.pid = 123,.backend_type = B_BACKEND,.malloc_bytes = 7 * MB};
PlhProfileImage image = {.header = &header,.alive = true};
PlhFinding	finding;
PlhAccount	account;
PlhStackTexts *texts;
PlhListedSite *listed;
PlhMallocStatement malloc_statement;
PlhFindingOrigin origin;

void
find(PlhKind kind, int64 bytes)
{
	memset(&finding, 0, sizeof(finding));
	memset(&account, 0, sizeof(account));
	memset(&origin, 0, sizeof(origin));
	finding.kind = kind;
	finding.bytes = bytes;
}

/* The figures are those of steady_leak, in suspect_facts.c. */
void
find_leak(void)
{
	find(PLH_KIND_SITE_LEAKS, 100 * MB);
	finding.error_bytes = 20 * MB;
	finding.counted_at = SOME_TIME + USECS_PER_HOUR;
	finding.late_bytes = 50 * MB;
	finding.sites = (PlhSitesFound)
	{
		.sites = 1,.statements = 1,.total_bytes = 100 * MB,.transactions = 100,.epochs = 100,
			.age_epochs = 200,.early_epochs = 100,.early_bytes = 50 * MB,.late_epochs = 100
	};
}

/* And these of fresh_growth. */
void
find_held(void)
{
	find(PLH_KIND_SITE_HOLDS, 100 * MB);
	finding.error_bytes = 20 * MB;
	finding.counted_at = SOME_TIME + USECS_PER_HOUR;
	finding.has_baseline = true;
	finding.baseline_at = SOME_TIME;
	finding.growth_bytes = 100 * MB;
	finding.sites = (PlhSitesFound)
	{
		.sites = 1,.statements = 1,.total_bytes = 100 * MB,.transactions = 3,.epochs = 3,
			.age_epochs = 3
	};
}

static bool
has(const char *said, const char *text)
{
	if (strstr(said, text) != NULL)
		return true;
	printf("# %s\n", said);
	return false;
}

bool
says(const char *text)
{
	PlhFindings findings = {1, &finding, &account};
	const PlhFoundIn in = {.image = &image,.findings = &findings,.stacks = texts};
	PlhSaid		evidence;

	plh_sentences_begin(&evidence);
	origin.shared = shared_function;
	plh_finding_evidence_say(&evidence, &finding, &in, &origin);
	return has(evidence.text.data, text);
}

bool
tells(const char *text)
{
	PlhSaid		next;

	plh_sentences_begin(&next);
	plh_advice_on_finding(&next, &finding, &image, listed, &origin, &malloc_statement);
	return has(next.text.data, text);
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
