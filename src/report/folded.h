/*
 * folded.h
 *	  Writes folded stacks, which flame graph scripts and speedscope read.
 *
 * Never called inside palloc.
 */
#ifndef PLH_FOLDED_H
#define PLH_FOLDED_H

#include "lib/stringinfo.h"

#include "report/site_list.h"

extern void plh_folded_append(StringInfo output, const PlhSiteList *list,
							  bool with_context, bool with_query);

#endif							/* PLH_FOLDED_H */
