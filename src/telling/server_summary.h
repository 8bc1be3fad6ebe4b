/*
 * server_summary.h
 *	  What a DBA would say of all processes of a server together: how large they are, the
 *	  largest causes over all of them, and which are alike.
 *
 * Never called inside palloc.
 */
#pragma once

#include "nodes/pg_list.h"

#include "judge/server_account.h"
#include "telling/explanation.h"

/* A finding of such a process. */
typedef struct PlhSummarizedFinding
{
	const char *verdict;
	const char *cause;
	const char *common;			/* as in PlhToldFinding */
	int64		bytes;
} PlhSummarizedFinding;

/* A process that was explained. */
typedef struct PlhSummarized
{
	int			pid;
	int64		bytes;			/* of own memory; -1: not known */
	const char *backend_type;	/* NULL where not known, as the next */
	const char *application_name;
	bool		has_profile;
	bool		is_gone;		/* it has crashed: its memory is free */
	bool		is_loaded;		/* it has pg_leakhunt */
	List	   *findings;		/* of PlhSummarizedFinding */
	bool		is_listed;		/* there is something to say of it alone */
	void	   *row;			/* the caller's */
} PlhSummarized;

/* What the summary needs of a process, copied to the current memory context. */
extern PlhSummarized *plh_server_summary_enter(const PlhExplainedProcess *process,
											   const PlhExplanation *explanation);

/*
 * The sentences on processes (of PlhSummarized), the largest first, in the current memory context.
 * "account" is NULL for a reader who does not see all processes.  Sets is_listed of each.
 */
extern void plh_server_summary_make(PlhSaid *text, const List *processes,
									PlhServerAccount *account);
