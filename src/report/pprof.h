/*
 * pprof.h
 *	  A list of call sites as a profile of pprof's.
 *
 * Never called inside palloc.
 */
#ifndef PLH_PPROF_H
#define PLH_PPROF_H

#include "lib/stringinfo.h"

#include "report/site_list.h"

extern void plh_pprof_append(StringInfo output, const PlhSiteList *list);

#endif							/* PLH_PPROF_H */
