/*
 * sql_check.c
 *	  The functions of SQL that run a statement: to test it for leaks, or to explain it with what
 *	  each node of its plan held.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "base/compat.h"
#include "base/plural.h"
#include "base/settings.h"
#include "check/leak_check.h"
#include "functions/sql_access.h"
#include "functions/sql_arguments.h"
#include "functions/sql_prove.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "plan/explained_query.h"
#include "profile/profile_file.h"
#include "profile/profile_image.h"
#include "profile/site_facts.h"
#include "reader/database_text.h"
#include "report/listed_site.h"
#include "sampler/publication.h"
#include "telling/site_family.h"
#include "telling/suppression.h"

PLH_FUNCTION(pg_leakhunt_check);
PLH_FUNCTION(pg_leakhunt_explain_analyze);

/* An argument that counts executions. */
static int
get_count(FunctionCallInfo fcinfo, int number, const char *name, int least)
{
	int			count;

	plh_sql_rows_check_not_null(fcinfo, number, name);
	count = PG_GETARG_INT32(number);
	if (count < least)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s must be at least %d", name, least)));
	return count;
}

static PlhCheckFail
get_fail(FunctionCallInfo fcinfo, int number)
{
	const char *fail = plh_sql_arguments_text(fcinfo, number);

	if (fail == NULL)
		return PLH_FAIL_NOTHING;
	if (strcmp(fail, "statement") == 0)
		return PLH_FAIL_STATEMENT;
	if (strcmp(fail, "each") != 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("fail must be \"statement\", \"each\" or null, not \"%s\"", fail)));
	return PLH_FAIL_EACH;
}

/*
 * Cut the stack where our own frames begin: callers of pg_leakhunt_check are not part of the leak,
 * and a pattern that matches them must not suppress it.
 */
static void
cut_at_own_frames(PlhStackText *stack)
{
	for (int i = 0; i < stack->frame_count; i++)
	{
		const char *module = stack->frames[i].module;

		if (module != NULL && strstr(module, "/pg_leakhunt.so") != NULL)
			stack->frame_count = i;
	}
}

static void
describe_site(PlhListedSite *listed, const PlhProfileImage *image,
			  const PlhSiteRecord *site, PlhStackTexts *texts)
{
	PlhSiteFacts facts = {0};

	plh_site_facts_resolve(&facts, image, site, NULL);
	plh_listed_site_start(listed, image, &facts);
	plh_listed_site_describe_stack(listed, texts);
	if (listed->has_stack)
		cut_at_own_frames(&listed->stack);
}

/* Describe the site of a leak; of contexts as such there is only a name. */
static void
describe_leak(PlhListedSite *listed, const PlhProfileImage *image,
			  const PlhLeak *leak, PlhStackTexts *texts)
{
	const PlhStringRecord *name;

	if (leak->site != NULL)
	{
		describe_site(listed, image, leak->site, texts);
		return;
	}
	memset(listed, 0, sizeof(*listed));
	listed->stack.site = "[memory contexts]";
	name = plh_profile_image_string(image, leak->contexts->context_name);
	if (name != NULL)
		listed->context_name =
			plh_database_text_fit_foreign(name->text, name->text_bytes, image->header->encoding);
}

/* The call site of the first allocation that was made to fail; NULL if none is known. */
static const char *
failing_site_of(const PlhLeak *leak, const PlhProfileImage *image, PlhStackTexts *texts)
{
	const PlhSiteRecord *site = plh_profile_image_site(image, leak->failing_site);
	PlhListedSite failing;

	if (leak->failures == 0 || site == NULL)
		return NULL;
	describe_site(&failing, image, site, texts);
	return failing.stack.site;
}

/* Who holds what grows, as the last proof has it; NULL: that is not known. */
static const char *
holder_of(const PlhLeak *leak, const PlhProfileImage *image)
{
	const PlhProofGroup *group = leak->site == NULL || leak->is_lost ? NULL :
		plh_proof_image_of_site(image, leak->site);

	return group == NULL || group->holder == 0 ? NULL :
		plh_proof_image_text(image->proof, group->holder);
}

/* Return one row, if it is a leak.  Returns whether it is suppressed. */
static bool
put_leak(const PlhListedSite *listed, const PlhLeak *leak,
		 const PlhProfileImage *image, PlhStackTexts *texts,
		 const PlhSuppressions *suppressions, PlhRowSink *sink)
{
	PlhRow		row = {0};

	if (listed->has_stack && plh_site_family_is_cache(&listed->stack, PLH_FUNCTION_BOUNDED_CACHE))
		return false;
	if (plh_suppression_any(suppressions, listed->context_name,
							listed->has_stack ? &listed->stack : NULL))
		return true;

#include "functions/columns/check.def"
	plh_sql_rows_finish(&row, sink);
	return false;
}

/* Return the rows of a check; the result says how many are suppressed. */
static int
put_leaks(const PlhLeaks *found, const PlhProof *proof,
		  const PlhSuppressions *suppressions, PlhRowSink *sink)
{
	PlhProfileImage *image;
	PlhStackTexts *texts;
	int			suppressed = 0;

	if (found->count == 0)
		return 0;
	image = plh_profile_image_own(plh_profile);
	image->proof = proof;
	texts = plh_stack_text_open(plh_sql_rows_symbols(sink), image);
	for (int i = 0; i < found->count; i++)
	{
		PlhListedSite listed;

		describe_leak(&listed, image, &found->leaks[i], texts);
		suppressed += put_leak(&listed, &found->leaks[i], image, texts, suppressions, sink);
	}
	return suppressed;
}

/* Say that memory stays behind of which there are no rows. */
static void
report_malloc(int64 bytes)
{
	bool		tracked = plh_profile->malloc_tracked != 0;

	if (bytes == 0)
		return;
	ereport(NOTICE,
			(errmsg("malloc outside of memory contexts grew by at least %lld %s per iteration",
					(long long) bytes, plh_plural(bytes, "byte", "bytes")),
			 tracked ?
			 errdetail("No call site grew by it in each half of the iterations: a library allocated blocks for many of its objects, or another thread did, which pg_leakhunt_check does not follow, or malloc uses it itself.") :
			 errdetail("No call site is known for it: that needs pg_leakhunt_malloc.so in LD_PRELOAD, and pg_leakhunt.track_malloc on."),
			 tracked ?
			 errhint("To see what threads of libraries allocate, use heaptrack or jemalloc's profiler.") :
			 errhint("To see the call sites, start the server with pg_leakhunt_malloc.so in LD_PRELOAD.")));
}

/* Say how often the statement failed, as it was to. */
static void
report_errors(const PlhLeakCheck *check)
{
	if (check->raised > 0)
		ereport(NOTICE, (errmsg("the statement raised an error in %d of %d executions: %s",
								check->raised, check->executions, check->error)));
	else
		ereport(NOTICE, (errmsg("the statement raised no error in %d executions",
								check->executions),
						 errdetail("Each execution was rolled back.")));
}

/* What a check of failing allocations has not seen; a part of an ereport. */
static int
hint_at_malloc(void)
{
	return plh_profile->malloc_tracked != 0 ? 0 :
		errhint("What stays of malloc in libraries was not followed: that needs pg_leakhunt_malloc.so in LD_PRELOAD.");
}

static void
report_failures(const PlhLeakCheck *check)
{
	if (check->failed >= check->allocations)
		ereport(NOTICE, (errmsg("each of the statement's %lld allocations failed once",
								(long long) check->allocations),
						 hint_at_malloc()));
	else
		ereport(NOTICE, (errmsg("%lld of the statement's %lld allocations failed once",
								(long long) check->failed, (long long) check->allocations),
						 errdetail("After the first 1000, one in a hundred of those before it."),
						 hint_at_malloc()));
}

/*
 * Tell the log which allocation is to fail: should the server crash, that is known.
 */
static void
trace_failure(const PlhPlannedFailure *failure, void *sink)
{
	PlhProfileImage *image = plh_profile_image_own(plh_profile);
	const PlhSiteRecord *site = plh_profile_image_site(image, failure->site);
	PlhListedSite listed = {0};

	if (site != NULL)
		describe_site(&listed, image, site, plh_stack_text_open(plh_sql_rows_symbols(sink), image));
	ereport(LOG_SERVER_ONLY,
			(errmsg("pg_leakhunt_check makes allocation %lld of the statement fail",
					(long long) failure->number),
			 errdetail("It asks for %zu bytes in \"%s\", at %s.", failure->size,
					   listed.context_name != NULL ? listed.context_name : "",
					   listed.has_stack ? listed.stack.site : "a call site that is not known"),
			 errhidecontext(true)));
}

/* The proof is written beside the profile's file, which young sessions do not have yet. */
static const PlhProof *
prove_own(void)
{
	const PlhBegunProof none = {.since = GetCurrentTimestamp()};

	plh_publication_publish();
	return plh_sql_prove(plh_profile_image_own(plh_profile), &none);
}

/*
 * pg_leakhunt_check(query, iterations, warmup, fail)
 */
Datum
pg_leakhunt_check(PG_FUNCTION_ARGS)
{
	PlhSuppressions *suppressions;
	PlhLeakCheckPlan plan = {.bounded = !plh_sql_access_sees_all()};
	PlhLeakCheck check;
	PlhRowSink	sink;
	int			suppressed;

	plh_sql_rows_check_arguments(fcinfo, 4);
	plan.query = plh_sql_arguments_required_text(fcinfo, 0, "query");
	plan.iterations = get_count(fcinfo, 1, "iterations", 1);
	plan.warmup = get_count(fcinfo, 2, "warmup", 0);
	plan.fail = get_fail(fcinfo, 3);
	plan.prove = prove_own;
	plan.trace = plh_check_trace ? trace_failure : NULL;
	plan.trace_argument = &sink;
	plh_sql_source_check_active();
	plh_sql_rows_start(fcinfo, &sink);
	suppressions = plh_sql_source_suppressions(fcinfo);
	plh_leak_check_run(&plan, &check);

	if (plan.fail == PLH_FAIL_STATEMENT)
		report_errors(&check);
	else if (plan.fail == PLH_FAIL_EACH)
		report_failures(&check);
	suppressed = put_leaks(&check.found, check.proof, suppressions, &sink);
	if (suppressed > 0)
		ereport(NOTICE, (errmsg_plural("%d leaking call site is suppressed",
									   "%d leaking call sites are suppressed",
									   suppressed, suppressed),
						 errhint("See pg_leakhunt_suppressions.")));
	report_malloc(check.malloc_bytes);
	return (Datum) 0;
}

/*
 * pg_leakhunt_explain_analyze(query, options)
 */
Datum
pg_leakhunt_explain_analyze(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	const char *query;
	const char *options;
	ListCell   *cell;

	plh_sql_rows_check_arguments(fcinfo, 2);
	query = plh_sql_arguments_required_text(fcinfo, 0, "query");
	options = plh_sql_arguments_required_text(fcinfo, 1, "options");
	plh_sql_source_check_active();
	PLH_INIT_MATERIALIZED(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	foreach(cell, plh_explained_query_run(query, options))
	{
		Datum		value = CStringGetTextDatum(lfirst(cell));
		bool		is_null = false;

		tuplestore_putvalues(result->setResult, result->setDesc, &value, &is_null);
	}
	return (Datum) 0;
}
