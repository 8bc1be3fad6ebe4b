/*
 * told_finding.c
 *	  What there is to tell of a finding: its facts, the names of its code, and the sentences.
 */
#include "postgres.h"

#include "judge/finding_sites.h"
#include "report/blamed_code.h"
#include "report/malloc_callers.h"
#include "telling/advice.h"
#include "telling/finding_evidence.h"
#include "telling/function_shares.h"
#include "telling/holder_sentences.h"
#include "telling/image_findings.h"
#include "telling/malloc_statement.h"
#include "telling/told_finding.h"
#include "telling/verdict_words.h"

/* Is it about several call sites, to which one function leads? */
static bool
is_of_one_cause(const PlhFinding *finding)
{
	return plh_finding_subject(finding) == PLH_SUBJECT_SITE && finding->sites.part_count > 0;
}

/* Are these more than one, and is it known to which function they belong? */
static bool
has_places(const PlhFinding *finding, const PlhSharedFunction *shared)
{
	return is_of_one_cause(finding) && shared != NULL && shared->places > 1;
}

/* What it is about, by itself. */
static const char *
what_about(const PlhFinding *finding, const PlhListedSite *listed,
		   const PlhSharedFunction *shared, const PlhProfileImage *image,
		   const PlhHolder *holder)
{
	const PlhFamilyAccount *family = plh_finding_family(finding);
	PlhFields	fields = {NULL};
	bool		is_over = finding->kind == PLH_KIND_STATEMENT && holder->kind == PLH_HELD_BY_LAST;

	if (plh_holder_sentences_explain(holder, finding) ||
		(finding->kind == PLH_KIND_STATEMENT && holder->kind == PLH_HELD_BY_TRANSACTION))
		return plh_holder_sentences_cause(holder);

	if (family != NULL)
		fields.title = plh_account_title(family, image);
	if (listed != NULL)
	{
		fields.site = plh_blamed_code_site(&listed->stack);
		fields.context = listed->context_name;
	}
	if (has_places(finding, shared))
	{
		fields.site = shared->site;
		fields.count = shared->places;
		return plh_sentences_phrase(PLH_SAYS_cause_sites, image->alive, &fields);
	}
	return plh_sentences_phrase(plh_verdict_words_of_kind(finding->kind)->cause,
								image->alive && !is_over, &fields);
}

/* What is alike in each process that has this cause, when its names are known. */
static const char *
what_is_common(const PlhToldFinding *told)
{
	if (plh_finding_subject(told->finding) != PLH_SUBJECT_SITE || told->site_words == NULL ||
		told->context_name == NULL)
		return told->cause;
	return psprintf("%s in %s", told->site_words, told->context_name);
}

/* The function that most of it was allocated in or below, where no single call site says that. */
static const PlhSharedFunction *
find_shared(const PlhFinding *finding, const PlhFoundIn *in)
{
	const PlhFamilyAccount *family = plh_finding_family(finding);
	PlhSharedFunction *shared = palloc(sizeof(PlhSharedFunction));
	bool		is_asked = finding->kind == PLH_KIND_STATEMENT || is_of_one_cause(finding) ||
		(family != NULL && finding->contexts.is_scattered);

	int			count;
	const PlhShare *shares;

	if (!is_asked || in->stacks == NULL)
		return NULL;
	shares = plh_finding_sites(finding, in->image, &count);
	return plh_shared_function_find(shared, shares, count, in->image, in->stacks) ? shared : NULL;
}

/* Which part its samples are of all. */
static void
say_share(PlhSaid *said, const PlhFinding *finding, const PlhSharedFunction *shared,
		  const PlhProfileImage *image)
{
	int64		all = image->header->counters.live_bytes;
	int64		of_sites = finding->sites.live_bytes;
	int64		sampled = of_sites > 0 ? of_sites : finding->bytes;
	double		percent = all <= 0 ? 0.0 : 100.0 * sampled / all;
	const PlhFields fields = {
		.count = shared != NULL ? shared->places : finding->sites.sites,
		.percent = psprintf("%.0f", percent)
	};

	if (all <= 0)
		return;
	plh_sentences_say(said, percent >= 99.5 ? PLH_SAYS_share_all :
					  percent < 1.0 ? PLH_SAYS_share_little : PLH_SAYS_share_part,
					  image->alive, &fields);
}

/* Fill in its part of all that was sampled, or the call site that has most of it. */
static void
tell_share(PlhToldFinding *told, const PlhProfileImage *image)
{
	PlhSaid		said;

	plh_sentences_begin(&said);
	if (plh_finding_subject(told->finding) == PLH_SUBJECT_SITE)
		say_share(&said, told->finding, told->shared, image);
	else if (plh_finding_family(told->finding) != NULL && told->named != NULL)
		PLH_SAY(&said, image->alive, held_at,.site = told->site_words);
	told->share = said.text.data;
	told->said = said.all;
}

/* Name the libraries to look at, where the call sites of malloc are not known. */
static void
find_libraries(PlhToldFinding *told, PlhSaid *evidence, const PlhFoundIn *in)
{
	PlhMallocCallers callers;

	if (!plh_finding_is_outside(told->finding) ||
		told->finding->kind == PLH_KIND_MAPPED_GROWS || !in->image->alive)
		return;
	callers = plh_malloc_callers_find(in->image->header->pid, in->symbols);
	told->libraries = callers.loaded;
	plh_advice_say_libraries(evidence, &callers);
}

/* Fill in what the site tells that a finding is named after. */
static void
name(PlhToldFinding *told, const PlhListedSite *named)
{
	told->named = named;
	told->site = named->stack.site;
	told->site_words = plh_blamed_code_site(&named->stack);
	told->routine = plh_stack_text_routine(&named->stack);
	told->routine_name = plh_stack_text_routine_name(&named->stack);
}

/* Does the next step send its reader to the functions that allocate? */
static bool
asks_for_functions(const PlhSaid *next)
{
	static const PlhSentence asking[] = {
		PLH_SAYS_value_made, PLH_SAYS_plugin_holds, PLH_SAYS_library_allocates,
		PLH_SAYS_library_in_build, PLH_SAYS_report_to_authors, PLH_SAYS_functions_in_groups,
		PLH_SAYS_functions_hold, PLH_SAYS_leader_holds, PLH_SAYS_vacuum_holds,
		PLH_SAYS_see_report
	};

	ListCell   *cell;

	foreach(cell, next->all)
	{
		PlhSentence said = ((const PlhSaidSentence *) lfirst(cell))->sentence;

		for (int i = 0; i < lengthof(asking); i++)
			if (said == asking[i])
				return true;
	}
	return false;
}

PlhToldFinding *
plh_told_finding_make(const PlhFinding *finding, const PlhListedSite *listed, const PlhFoundIn *in)
{
	const PlhProfileImage *image = in->image;
	PlhToldFinding *told = palloc0(sizeof(PlhToldFinding));
	PlhMallocStatement statement = plh_malloc_statement_find(finding, image);
	const PlhFamilyAccount *family = plh_finding_family(finding);
	PlhFindingOrigin origin;
	PlhHolder	holder = plh_holder_sentences_of(finding, image);
	PlhSaid		evidence;
	PlhSaid		next;

	plh_sentences_begin(&evidence);
	plh_sentences_begin(&next);
	told->finding = finding;
	told->verdict = plh_verdict_name(plh_finding_verdict(finding));
	told->shared = find_shared(finding, in);
	told->about = what_about(finding, listed, told->shared, image, &holder);
	told->cause = plh_finding_subject(finding) == PLH_SUBJECT_SITE ? told->about :
		PLH_PHRASE(true, in_brackets,.cause = told->about);
	told->family = family == NULL ? NULL : plh_account_title(family, image);
	told->waits = plh_holder_sentences_explain(&holder, finding) ||
		(finding->kind == PLH_KIND_STATEMENT && holder.kind == PLH_HELD_BY_TRANSACTION);
	if (listed != NULL && plh_function_shares_name_site(finding, image, in->stacks))
		name(told, listed);
	if (told->shared != NULL && (told->named == NULL || has_places(finding, told->shared)))
		told->site = told->site_words = told->shared->site;
	told->context_name = plh_image_findings_contexts(finding, told->named, image);
	told->common = what_is_common(told);
	told->query = listed == NULL ? statement.query : listed->query;
	told->query_id = listed == NULL ? statement.query_id : listed->query_id;
	tell_share(told, image);
	origin = plh_finding_origin_find(finding, image, in->stacks, told->shared);
	told->phase = plh_phase_name(origin.phase);
	plh_finding_evidence_say(&evidence, finding, in, &origin);
	if (statement.evidence != NULL)
		appendStringInfo(&evidence.text, " %s", statement.evidence);
	find_libraries(told, &evidence, in);
	told->evidence = evidence.text.data;
	told->said = list_concat(told->said, evidence.all);
	plh_advice_on_finding(&next, finding, image, told->named, &origin, &statement);
	told->next = next.text.data;
	told->next_summary = plh_sentences_first(&next);
	told->next_id = plh_sentences_first_name(&next);
	told->needs_names = finding->kind != PLH_KIND_STATEMENT || asks_for_functions(&next);
	if (plh_finding_is_outside(finding))
		told->loaded = plh_advice_loaded(image);
	return told;
}

char *
plh_told_finding_row_text(const PlhToldFinding *told)
{
	PlhSaid		said;

	plh_sentences_begin(&said);
	appendStringInfoString(&said.text, told->evidence);
	if (told->named != NULL && plh_blamed_code_lacks_name(&told->named->stack))
		PLH_SAY(&said, true, site_is,.site = told->site_words);
	PLH_SAY(&said, true, next,.next = told->next);
	return said.text.data;
}

const char *
plh_told_finding_nameless(const PlhToldFinding *told)
{
	if (told->named == NULL || !told->needs_names ||
		plh_finding_subject(told->finding) == PLH_SUBJECT_CONTEXTS)
		return NULL;
	return plh_blamed_code_nameless(&told->named->stack);
}
