/*
 * told_finding.c
 *	  What there is to tell of a finding, in words.
 */
#include "postgres.h"

#include "report/blamed_code.h"
#include "report/malloc_callers.h"
#include "telling/image_suspects.h"
#include "telling/malloc_statement.h"
#include "telling/share_text.h"
#include "telling/suspect_advice.h"
#include "telling/suspect_evidence.h"
#include "telling/told_finding.h"

/* What a verdict on a whole process is on, which its name alone does not tell. */
static const char *
what_of(PlhVerdict verdict)
{
	switch (verdict)
	{
		case PLH_VERDICT_MALLOC:
			return " (memory that malloc gave out outside of memory contexts)";
		case PLH_VERDICT_MAPPED:
			return " (memory that is neither in memory contexts nor malloc's)";
		case PLH_VERDICT_FREED:
			return " (memory that malloc keeps although it was freed)";
		case PLH_VERDICT_GROWING:
			return " (the process as a whole)";
		default:
			return "";
	}
}

/* What a verdict is on. */
static const char *
cause_of(const PlhSuspect *suspect, const PlhListedSite *listed,
		 const PlhProfileImage *image)
{
	if (suspect->facts.subject == PLH_SUBJECT_STATEMENT)
		return image->alive ? " (the running statement or transaction)" :
			" (the last statement or transaction)";
	if (suspect->family != NULL)
		return psprintf(" (%s)", plh_account_title(suspect->family, image));
	return listed == NULL ? what_of(suspect->judgement.verdict) :
		psprintf(" at %s in %s", plh_blamed_code_site(&listed->stack),
				 listed->context_name);
}

/* The libraries to look at, of a verdict on malloc whose callers are not known. */
static const char *
libraries_of(const PlhSuspect *suspect, const PlhProfileImage *image,
			 PlhSymbols *symbols)
{
	if (suspect->judgement.verdict != PLH_VERDICT_MALLOC ||
		suspect->site != NULL || !image->alive)
		return "";
	return psprintf(" %s", plh_malloc_callers_text(image->header->pid, symbols));
}

/*
 * What there is to tell of a suspect, in the current memory context.
 */
PlhToldFinding *
plh_told_finding_make(const PlhSuspect *suspect, const PlhListedSite *listed,
					  const PlhFoundIn *in)
{
	const PlhProfileImage *image = in->image;
	PlhToldFinding *finding = palloc0(sizeof(PlhToldFinding));
	PlhMallocStatement statement =
		plh_malloc_statement_find(suspect, image);
	const PlhListedSite *named = NULL;

	if (listed != NULL && plh_share_text_names_site(suspect, image, in->stacks))
		named = listed;
	finding->named = named;
	finding->verdict = plh_suspect_verdict_name(suspect->judgement.verdict);
	finding->cause = cause_of(suspect, listed, image);
	if (named != NULL)
	{
		finding->site = named->stack.site;
		finding->routine = plh_stack_text_routine(&named->stack);
	}
	finding->context_name = plh_image_suspects_contexts(suspect, named, image);
	finding->query = listed == NULL ? statement.query : listed->query;
	finding->evidence =
		psprintf("%s%s%s",
				 plh_suspect_evidence(suspect, in->list, image, in->stacks),
				 statement.evidence, libraries_of(suspect, image, in->symbols));
	finding->next = plh_suspect_advice(suspect, image, named, &statement);
	finding->bytes = suspect->facts.live_bytes;
	finding->error_bytes = suspect->judgement.error_bytes;
	finding->has_rate = suspect->judgement.has_rate;
	finding->bytes_per_hour = suspect->judgement.bytes_per_hour;
	finding->rate_us = suspect->judgement.rate_us;
	return finding;
}
