/*
 * common_causes.h
 *	  What several processes are suspected of alike: how many they are, and how much they have.
 *
 * Never called inside palloc.
 */
#pragma once

#include "nodes/pg_list.h"

typedef struct PlhCommonCause
{
	const char *verdict;
	const char *common;			/* what is alike in all of them */
	bool		is_gone;		/* they have crashed */
	int			processes;
	int64		bytes;			/* in all of them */
	int			pid;			/* of the one that has most */
	int64		most_bytes;		/* in that one */
	void	   *told;			/* the caller's, of that one; NULL: to be made */
	int			last_pid;		/* that was entered */
	int64		last_bytes;		/* in that one */
} PlhCommonCause;

/*
 * Add a finding to the cause that it has in common with others, which is the first of its kind if
 * there is none in the list.  Findings of one process follow one another, the largest first.  Texts
 * are copied to the current memory context.
 */
extern PlhCommonCause *plh_common_causes_enter(List **causes, const PlhCommonCause *finding);
