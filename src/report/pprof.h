/*
 * pprof.h
 *	  Writes a list of sites as a profile that pprof reads.
 *
 * Never called inside palloc.
 */
#ifndef PLH_PPROF_H
#define PLH_PPROF_H

#include "lib/stringinfo.h"

#include "report/site_list.h"

/* The output is binary, and may contain zero bytes. */
extern void plh_pprof_append(StringInfo output, const PlhSiteList *list);

#endif							/* PLH_PPROF_H */
