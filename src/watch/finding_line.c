/*
 * finding_line.c
 *	  The line in the server's log that tells of a finding.
 *
 * It is read by people who have never heard of pg_leakhunt: so it says what happens, and not what
 * the verdict is called.
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "base/plural.h"
#include "report/death_text.h"
#include "report/one_line.h"
#include "report/words.h"
#include "telling/sentences.h"
#include "telling/verdict_words.h"
#include "watch/finding_line.h"

/* The most characters of a statement that are shown. */
#define STATEMENT_COLUMNS 200

/*
 * What happens, and how much it is about.  Contexts of one kind are no place by themselves; of a
 * statement, the site that has most.
 */
static const char *
headline(const PlhToldFinding *told, const PlhFoundIn *in)
{
	const PlhFinding *finding = told->finding;
	PlhSentence sentence = plh_verdict_words_of_kind(finding->kind)->headline;
	PlhFields	fields = {
		.pid = in->image->header->pid,
		.bytes = plh_words_estimate(finding->bytes, finding->error_bytes),
		.cause = told->cause
	};

	if (told->waits)
	{
		sentence = PLH_SAYS_log_waiting;
		fields.cause = told->about;
	}
	else if (told->family != NULL && finding->kind == PLH_KIND_CONTEXTS_HOLD &&
			 finding->contexts.family->contexts == 1)
	{
		sentence = PLH_SAYS_log_one_context;
		fields.cause = PLH_PHRASE(true, log_place,.title = told->family);
	}
	else if (told->family != NULL)
		fields.cause = PLH_PHRASE(true, log_place,.title = told->family);
	else if (finding->kind == PLH_KIND_STATEMENT && told->named != NULL)
	{
		sentence = PLH_SAYS_log_statement_at;
		fields.cause = PLH_PHRASE(true, cause_site,.site = told->site_words,
								  .context = told->named->context_name);
	}
	else if (finding->kind == PLH_KIND_STATEMENT && told->shared != NULL)
	{
		sentence = PLH_SAYS_log_statement_shared;
		fields.percent = psprintf("%.0f", plh_shared_function_percent(told->shared));
		fields.name = told->shared->site;
	}
	return plh_sentences_phrase(sentence, true, &fields);
}

static void
append_left_out(StringInfo detail, const PlhLogTurn *turn)
{
	if (turn->left_out > 0)
		appendStringInfo(detail, "  %u more %s not logged in the minute that began at %s.",
						 turn->left_out, plh_plural(turn->left_out, "finding was", "findings were"),
						 plh_words_time(turn->left_out_from));
	if (turn->is_last)
		appendStringInfo(detail, "  Further findings are not logged until %s.",
						 plh_words_time(turn->ends_at));
}

/* Whom the process works for, why it is a finding, and in which routine and statement. */
static char *
make_detail(const PlhToldFinding *told, const PlhFoundIn *in, const PlhLogTurn *turn)
{
	const PlhProfileHeader *header = in->image->header;
	const char *names = plh_death_text_names(header);
	StringInfoData detail;

	initStringInfo(&detail);
	appendStringInfo(&detail, "Process: %s%s%s.  %s", plh_profile_image_backend_type(in->image),
					 names[0] == '\0' ? "" : ", ", names, told->evidence);
	if (told->routine != NULL)
		appendStringInfo(&detail, "  Allocated in %s.", told->routine);
	append_left_out(&detail, turn);
	if (told->query != NULL)
		appendStringInfo(&detail, "  Statement: %s", plh_one_line(told->query, STATEMENT_COLUMNS));
	return detail.data;
}

void
plh_finding_line_log(const PlhFinding *finding, const PlhListedSite *listed,
					 const PlhFoundIn *in, const PlhLogTurn *turn)
{
	const PlhToldFinding *told = plh_told_finding_make(finding, listed, in);

	ereport(LOG, (errmsg_internal("%s", headline(told, in)),
				  errdetail_internal("%s", make_detail(told, in, turn)),
				  errhint("%s  SELECT explanation FROM pg_leakhunt_explain(%d) tells more.",
						  told->next, in->image->header->pid)));
}
