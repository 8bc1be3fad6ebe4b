/*
 * finding_json.c
 *	  Findings, and what is said, for programs.
 */
#include "postgres.h"

#include <math.h>

#include "report/json.h"
#include "telling/finding_json.h"
#include "telling/moment.h"
#include "telling/proven_evidence.h"
#include "telling/verdict_words.h"

static const char *
kind_name(PlhKind kind)
{
	static const char *const names[] = {
#define KIND_NAME(id, verdict, subject) #id,
		PLH_EACH_KIND(KIND_NAME)
	};

	return names[kind];
}

/*
 * A member "said": of each sentence its id, and the fields that are in it, as they
 * are told.
 */
static void
put_said(StringInfo json, const List *said)
{
	ListCell   *cell;

	plh_json_put_open(json, "said", '[');
	foreach(cell, said)
	{
		const PlhSaidSentence *sentence = lfirst(cell);
		ListCell   *field_cell;

		plh_json_open(json, '{');
		plh_json_put_text(json, "id", plh_sentences_name(sentence->sentence));
		foreach(field_cell, sentence->fields)
		{
			const PlhSaidField *field = lfirst(field_cell);

			plh_json_put_text(json, field->name, field->value);
		}
		plh_json_close(json, '}');
	}
	plh_json_close(json, ']');
}

static void
put_figures(StringInfo json, const PlhFinding *finding)
{
	plh_json_put_number(json, "bytes", finding->bytes);
	plh_json_put_number(json, "error_bytes", finding->error_bytes);
	plh_json_put_if(json, "bytes_per_hour", finding->rate.is_known, finding->rate.bytes_per_hour);
	plh_json_put_if(json, "rate_us", finding->rate.is_known, finding->rate.seen_us);
	plh_json_put_if(json, "growth_bytes", finding->has_baseline, finding->growth_bytes);
	plh_json_put_time(json, "since", finding->has_baseline ? finding->baseline_at : 0);
	plh_json_put_time(json, "counted_at", finding->counted_at);
	plh_json_put_number(json, "score_percent", (int64) rint(100 * finding->score));
}

/* What a proof says of it; nothing without one. */
static void
put_proven(StringInfo json, const PlhFinding *finding)
{
	const PlhProven *proven = plh_proven_evidence_of(finding);

	if (proven == NULL)
		return;
	plh_json_put_open(json, "proven", '{');
	plh_json_put_time(json, "at", proven->at);
	plh_json_put_number(json, "lost_bytes", proven->lost_bytes);
	plh_json_put_number(json, "resettable_bytes", proven->resettable_bytes);
	plh_json_put_number(json, "held_bytes", proven->held_bytes);
	plh_json_put_number(json, "holder_bytes", proven->holder_bytes);
	plh_json_put_text(json, "held_by", plh_proven_evidence_holder(finding));
	plh_json_put_text(json, "path", plh_proven_evidence_path(finding));
	plh_json_close(json, '}');
}

static void
put_names(StringInfo json, const PlhToldFinding *told)
{
	plh_json_put_text(json, "about", told->about);
	plh_json_put_text(json, "cause", told->cause);
	plh_json_put_text(json, "family", told->family);
	plh_json_put_text(json, "site", told->site);
	plh_json_put_text(json, "site_words", told->site_words);
	plh_json_put_text(json, "routine", told->routine);
	plh_json_put_text(json, "context_name", told->context_name);
	plh_json_put_text(json, "phase", told->phase);
	plh_json_put_text(json, "query", told->query);
	plh_json_put_text(json, "loaded", told->loaded);
	plh_json_put_text(json, "libraries", told->libraries);
}

/* The function that most of it was allocated in or below; null where a call site says that. */
static void
put_shared(StringInfo json, const PlhSharedFunction *shared)
{
	plh_json_key(json, "shared_frame");
	if (shared == NULL)
	{
		plh_json_null(json);
		return;
	}
	plh_json_open(json, '{');
	plh_json_put_text(json, "function", shared->function);
	plh_json_put_number(json, "percent", (int64) rint(plh_shared_function_percent(shared)));
	plh_json_put_number(json, "places", shared->places);
	plh_json_put_flag(json, "has_more_places", shared->has_more);
	plh_json_close(json, '}');
}

static void
put_finding(StringInfo json, const PlhToldFinding *told)
{
	plh_json_open(json, '{');
	plh_json_put_text(json, "verdict", told->verdict);
	plh_json_put_text(json, "kind", kind_name(told->finding->kind));
	put_figures(json, told->finding);
	put_proven(json, told->finding);
	put_names(json, told);
	put_shared(json, told->shared);
	plh_json_put_text(json, "answer", plh_verdict_words_of_kind(told->finding->kind)->answer);
	plh_json_put_text(json, "share", told->share);
	plh_json_put_text(json, "evidence", told->evidence);
	put_said(json, told->said);
	plh_json_put_text(json, "next", told->next);
	plh_json_put_text(json, "next_summary", told->next_summary);
	plh_json_put_text(json, "next_id", told->next_id);
	plh_json_close(json, '}');
}

void
plh_finding_json_put_all(StringInfo json, const List *told)
{
	ListCell   *cell;

	plh_json_key(json, "findings");
	plh_json_open(json, '[');
	foreach(cell, told)
		put_finding(json, lfirst(cell));
	plh_json_close(json, ']');
}

void
plh_finding_json_put_doubt(StringInfo json, const PlhDoubt *doubt)
{
	plh_json_key(json, "doubt");
	if (doubt == NULL)
	{
		plh_json_null(json);
		return;
	}
	plh_json_open(json, '{');
	plh_json_put_text(json, "reason", plh_sentences_first_name(&doubt->words));
	plh_json_put_flag(json, "is_undecided", doubt->is_undecided);
	plh_json_put_text(json, "words", doubt->words.text.data);
	put_said(json, doubt->words.all);
	plh_json_put_text(json, "summary", plh_sentences_first(&doubt->words));
	plh_json_put_text(json, "next", doubt->next.begins != NIL ? doubt->next.text.data : NULL);
	plh_json_put_text(json, "next_id", plh_sentences_first_name(&doubt->next));
	plh_json_put_text(json, "loaded", doubt->loaded);
	plh_json_close(json, '}');
}

void
plh_finding_json_put_text(StringInfo json, const PlhSaid *text)
{
	ListCell   *cell;

	plh_json_key(json, "sentences");
	plh_json_open(json, '[');
	foreach(cell, text->starts)
	{
		const ListCell *next = lnext(text->starts, cell);
		int			end = next == NULL ? text->text.len : lfirst_int(next) - 1;

		plh_json_text(json, pnstrdup(text->text.data + lfirst_int(cell), end - lfirst_int(cell)));
	}
	plh_json_close(json, ']');
	plh_json_key(json, "sentence_ids");
	plh_json_open(json, '[');
	foreach(cell, text->begins)
		plh_json_text(json, plh_sentences_name(lfirst_int(cell)));
	plh_json_close(json, ']');
}

void
plh_finding_json_put_verdicts(StringInfo json)
{
	plh_json_key(json, "verdicts");
	plh_json_open(json, '{');
	for (PlhVerdict verdict = PLH_VERDICT_NONE + 1; verdict < PLH_VERDICTS; verdict++)
	{
		plh_json_key(json, plh_verdict_name(verdict));
		plh_json_open(json, '{');
		plh_json_put_text(json, "tone", plh_verdict_words_of(verdict)->tone);
		plh_json_put_text(json, "meaning", plh_verdict_words_of(verdict)->meaning);
		plh_json_close(json, '}');
	}
	plh_json_close(json, '}');
}

/* When and how private memory became what it is. */
static void
put_course(StringInfo json, const PlhCourse *course)
{
	plh_json_put_open(json, "course", '{');
	plh_json_put_number(json, "grown_bytes", course->grown_bytes);
	plh_json_put_time(json, "grown_since", course->grown_since);
	plh_json_put_number(json, "late_bytes", course->late_bytes);
	plh_json_put_time(json, "rests_since", course->rests_since);
	plh_json_put_flag(json, "rests", plh_course_rests(course));
	plh_json_put_flag(json, "end_unknown", course->end_unknown);
	plh_json_put_number(json, "fallen_bytes", course->fallen_bytes);
	plh_json_put_time(json, "fallen_since", course->fallen_since);
	plh_json_close(json, '}');
}

/* The moments of what is told. */
static void
put_times(StringInfo json, const PlhExplainedProcess *process, const PlhExplanation *explanation)
{
	const PlhProfileHeader *header = process->image == NULL ? NULL : process->image->header;

	plh_json_put_time(json, "now", process->now);
	plh_json_put_time(json, "state_since", process->state_since);
	plh_json_put_time(json, "started_at", header == NULL ? 0 : header->started_at);
	plh_json_put_time(json, "counted_at", header == NULL ? 0 : header->census_at);
	plh_json_put_if(json, "counted_private_bytes", header != NULL && header->census_at != 0,
					header == NULL ? 0 : header->own_bytes);
	if (explanation->course.now != 0)
		put_course(json, &explanation->course);
}

static void
put_process(StringInfo json, const PlhExplainedProcess *process, const PlhExplanation *explanation)
{
	plh_json_put_number(json, "pid", process->pid);
	plh_json_put_text(json, "backend_type", process->backend_type);
	plh_json_put_text(json, "username", process->username);
	plh_json_put_text(json, "database", process->database);
	plh_json_put_text(json, "application_name", process->application_name);
	plh_json_put_text(json, "state", process->state);
	plh_json_put_flag(json, "alive", process->image == NULL || process->image->alive);
	plh_json_put_if(json, "private_bytes", explanation->own_bytes >= 0, explanation->own_bytes);
	plh_json_put_flag(json, "is_counted_now", plh_moment_is_now(process));
	plh_json_put_if(json, "shared_bytes", process->rss_anon_bytes >= 0, process->rss_shared_bytes);
}

static void
put_contexts(StringInfo json, const PlhAccount *account, const PlhProfileImage *image)
{
	plh_json_key(json, "contexts");
	plh_json_open(json, '[');
	for (int i = 0; i < account->family_count; i++)
	{
		const PlhFamilyAccount *family = &account->families[i];

		plh_json_open(json, '{');
		plh_json_put_text(json, "name", family->family != NULL ?
						  family->family->title : plh_account_name(family, image));
		plh_json_put_number(json, "bytes", family->bytes);
		plh_json_put_number(json, "instances", family->contexts);
		plh_json_put_flag(json, "lasting", family->lasting);
		plh_json_close(json, '}');
	}
	plh_json_close(json, ']');
}

static void
put_account(StringInfo json, const PlhAccount *account, const PlhProfileImage *image)
{
	static const PlhAccount nothing;
	bool		counted = account != NULL && account->is_counted;
	const PlhAccount *shown = counted ? account : &nothing;

	plh_json_put_if(json, "context_bytes", counted, shown->context_bytes);
	plh_json_put_if(json, "malloc_bytes_outside", shown->knows_malloc, shown->outside_bytes);
	plh_json_put_if(json, "malloc_free_bytes", shown->knows_malloc, shown->freed_bytes);
	plh_json_put_if(json, "other_bytes", shown->knows_malloc, shown->other_bytes);
	if (counted)
		put_contexts(json, account, image);
}

void
plh_finding_json_put_explanation(StringInfo json, const PlhExplainedProcess *process,
								 const PlhExplanation *explanation, const char *names)
{
	plh_json_open(json, '{');
	put_process(json, process, explanation);
	put_times(json, process, explanation);
	put_account(json, explanation->account, process->image);
	plh_finding_json_put_all(json, explanation->told);
	plh_finding_json_put_doubt(json, explanation->doubt);
	plh_finding_json_put_text(json, &explanation->text);
	put_said(json, explanation->text.all);
	plh_json_put_text(json, "names", names);
	plh_json_close(json, '}');
}
