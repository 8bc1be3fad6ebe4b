/*
 * common_causes.c
 *	  What several processes are suspected of alike: how many they are, and how much they have.
 */
#include "postgres.h"

#include "reader/database_text.h"
#include "telling/common_causes.h"

static PlhCommonCause *
find_or_begin(List **causes, const PlhCommonCause *finding)
{
	PlhCommonCause *cause;
	ListCell   *cell;

	foreach(cell, *causes)
	{
		cause = lfirst(cell);
		if (cause->is_gone == finding->is_gone &&
			plh_texts_are_same(cause->verdict, finding->verdict) &&
			plh_texts_are_same(cause->common, finding->common))
			return cause;
	}
	cause = palloc0(sizeof(PlhCommonCause));
	cause->verdict = pstrdup(finding->verdict);
	cause->common = pstrdup(finding->common);
	cause->is_gone = finding->is_gone;
	*causes = lappend(*causes, cause);
	return cause;
}

PlhCommonCause *
plh_common_causes_enter(List **causes, const PlhCommonCause *finding)
{
	PlhCommonCause *cause = find_or_begin(causes, finding);

	if (cause->processes == 0 || cause->last_pid != finding->pid)
	{
		cause->processes++;
		cause->last_pid = finding->pid;
		cause->last_bytes = 0;
	}
	cause->bytes += finding->bytes;
	cause->last_bytes += finding->bytes;
	if (cause->processes == 1 || cause->last_bytes > cause->most_bytes)
	{
		if (cause->pid != finding->pid)
			cause->told = NULL;
		cause->pid = finding->pid;
		cause->most_bytes = cause->last_bytes;
	}
	return cause;
}
