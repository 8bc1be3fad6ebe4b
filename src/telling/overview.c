/*
 * overview.c
 *	  The findings of all processes in a few words: a row for each cause, or one that says that
 *	  there is none.
 *
 * A pool of thirty sessions that have one fault in common is one row, so that it does not hide
 * what else there is.
 */
#include "postgres.h"

#include "report/one_line.h"
#include "telling/common_causes.h"
#include "telling/overview.h"

/* The most characters of a statement that are shown. */
#define STATEMENT_COLUMNS 60

/* What a finding is about, with what tells a reader more than the name of a C function. */
static const char *
what_of(const PlhToldFinding *told, const char *routine)
{
	PlhFields	fields = {.what = told->about,.routines = routine,.list = told->libraries};

	if (routine != NULL)
		return plh_sentences_phrase(PLH_SAYS_overview_by_routine, true, &fields);
	if (told->finding->kind == PLH_KIND_STATEMENT && told->query != NULL)
	{
		fields.query = plh_one_line(told->query, STATEMENT_COLUMNS);
		return plh_sentences_phrase(PLH_SAYS_overview_of_query, true, &fields);
	}
	if (told->libraries != NULL)
		return plh_sentences_phrase(PLH_SAYS_overview_libraries, true, &fields);
	return told->about;
}

/*
 * What findings of one row have alike.  A function in C is the cause from wherever it is called; a
 * routine, whichever of its lines takes most of it in this session.
 */
static const char *
common_of(const PlhToldFinding *told)
{
	return plh_finding_subject(told->finding) == PLH_SUBJECT_SITE ? told->common :
		what_of(told, told->routine_name);
}

/* Append a name that is known, behind what stands between it and the one before. */
static void
append_name(StringInfo names, const char *between, const char *name)
{
	if (name != NULL && name[0] != '\0')
		appendStringInfo(names, "%s%s", names->len == 0 ? "" : between, name);
}

/* The names by which a process is known, those first that its users have chosen. */
static const char *
who_of(const PlhExplainedProcess *process)
{
	const char *type = process->backend_type;
	StringInfoData names;

	initStringInfo(&names);
	append_name(&names, "", process->application_name);
	append_name(&names, ", ", process->username);
	append_name(&names, process->username == NULL ? ", " : "@", process->database);
	if (type != NULL && strcmp(type, "client backend") != 0)
		append_name(&names, ", ", type);
	return names.data;
}

/* What a row tells of the process that has most of its cause. */
static PlhOverviewRow *
tell_row(const PlhExplainedProcess *process, const PlhToldFinding *told)
{
	PlhOverviewRow *row = palloc0(sizeof(PlhOverviewRow));

	row->verdict = told->verdict;
	row->what = pstrdup(what_of(told, told->routine));
	row->who = who_of(process);
	row->next_step = told->next_summary == NULL ? NULL : pstrdup(told->next_summary);
	return row;
}

/* Add a finding to the row of its cause. */
static void
enter_finding(PlhOverview *overview, const PlhExplainedProcess *process,
			  const PlhToldFinding *told)
{
	PlhCommonCause finding = {
		.verdict = told->verdict,
		.common = common_of(told),
		.is_gone = process->image != NULL && !process->image->alive,
		.pid = process->pid,
		.bytes = told->finding->bytes
	};
	PlhCommonCause *cause = plh_common_causes_enter(&overview->causes, &finding);

	if (cause->told == NULL && cause->pid == process->pid)
		cause->told = tell_row(process, told);
}

/* Count a process that has no finding to tell. */
static void
count_process(PlhOverview *overview, const PlhExplainedProcess *process,
			  const PlhExplanation *explanation)
{
	const PlhDoubt *doubt = explanation->doubt;

	if (process->image != NULL && !process->image->alive)
		return;
	if (doubt != NULL && (doubt->is_unknown || doubt->is_undecided))
		overview->unjudged++;
	else
		overview->judged++;
}

void
plh_overview_enter(PlhOverview *overview, const PlhExplainedProcess *process,
				   const PlhExplanation *explanation, MemoryContext memory)
{
	MemoryContext caller_context = MemoryContextSwitchTo(memory);
	ListCell   *cell;

	overview->hidden += explanation->hidden;
	if (explanation->told == NIL)
		count_process(overview, process, explanation);
	foreach(cell, explanation->told)
		enter_finding(overview, process, lfirst(cell));
	MemoryContextSwitchTo(caller_context);
}

/* list_sort comparator, in the order that plh_overview_rows promises. */
static int
compare_causes(const ListCell *a, const ListCell *b)
{
	const PlhCommonCause *left = lfirst(a);
	const PlhCommonCause *right = lfirst(b);
	const char *growing = plh_verdict_name(PLH_VERDICT_GROWING);
	bool		left_grows = strcmp(left->verdict, growing) == 0;
	bool		right_grows = strcmp(right->verdict, growing) == 0;

	if (left->is_gone != right->is_gone)
		return left->is_gone ? 1 : -1;
	if (left_grows != right_grows)
		return left_grows ? 1 : -1;
	if (left->bytes != right->bytes)
		return left->bytes < right->bytes ? 1 : -1;
	return left->pid - right->pid;
}

/* The row of a cause, when all of its findings are entered. */
static PlhOverviewRow *
row_of_cause(const PlhCommonCause *cause)
{
	PlhOverviewRow *row = cause->told;

	row->pid = cause->pid;
	row->bytes = cause->bytes;
	row->who = plh_sentences_phrase(cause->processes == 1 ? PLH_SAYS_overview_who :
									PLH_SAYS_overview_who_several, !cause->is_gone,
									PLH_FIELDS(.who = row->who,.count = cause->processes));
	return row;
}

/* The row that says that there is no finding, and what that is known of. */
static PlhOverviewRow *
row_of_nothing(const PlhOverview *overview)
{
	PlhOverviewRow *row = palloc0(sizeof(PlhOverviewRow));
	PlhSaid		what;
	PlhSaid		who;

	plh_sentences_begin(&what);
	plh_sentences_begin(&who);
	PLH_SAY(&what, true, overview_nothing);
	if (overview->hidden > 0)
		PLH_SAY(&what, true, hidden_findings,.count = overview->hidden);
	if (!overview->sees_all)
		PLH_SAY(&what, true, overview_visible);
	PLH_SAY(&who, true, overview_judged,.count = overview->judged);
	if (overview->unjudged > 0)
	{
		PLH_SAY(&who, true, overview_unjudged,.count = overview->unjudged);
		row->next_step = PLH_PHRASE(true, overview_explain);
	}
	row->verdict = plh_verdict_name(PLH_VERDICT_NONE);
	row->bytes = -1;
	row->what = what.text.data;
	row->who = who.text.data;
	return row;
}

List *
plh_overview_rows(PlhOverview *overview)
{
	List	   *rows = NIL;
	ListCell   *cell;

	if (overview->causes == NIL)
		return lappend(NIL, row_of_nothing(overview));
	list_sort(overview->causes, compare_causes);
	foreach(cell, overview->causes)
		rows = lappend(rows, row_of_cause(lfirst(cell)));
	return rows;
}
