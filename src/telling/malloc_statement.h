/*
 * malloc_statement.h
 *	  The statement during which a process has got memory from malloc, or mapped it, outside of
 *	  contexts, or memory that malloc keeps since it was freed, where that is known.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/finding.h"

typedef struct PlhMallocStatement
{
	const char *query;			/* its text; NULL where it is not known */
	int64		query_id;		/* 0: none was computed */
	const char *evidence;		/* a sentence on how that is known; else NULL */
	bool		may_run;		/* most came while a statement ran that runs
								 * now, or at about the time when it began */
} PlhMallocStatement;

extern PlhMallocStatement plh_malloc_statement_find(const PlhFinding *finding,
													const PlhProfileImage *image);
