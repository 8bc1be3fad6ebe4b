/*
 * top.h
 *	  Sums over call sites per function, line, binary or memory context.
 *
 * Never called inside palloc.
 */
#ifndef PLH_TOP_H
#define PLH_TOP_H

#include "report/site_list.h"

/* What is summed up. */
typedef enum PlhTopKind
{
	PLH_TOP_FUNCTION,
	PLH_TOP_LINE,
	PLH_TOP_MODULE,
	PLH_TOP_CONTEXT
} PlhTopKind;

typedef struct PlhTopRow
{
	const char *name;
	int64		flat_bytes;		/* allocated by itself */
	int64		flat_count;
	int64		cum_bytes;		/* by itself or by what it calls */
	int64		cum_count;
	int			last_site;		/* that was counted, so that none is twice */
} PlhTopRow;

extern const char *plh_top_kind_name(PlhTopKind kind);
extern PlhTopRow **plh_top_make(const PlhSiteList *list, PlhTopKind kind,
								int *count);

#endif							/* PLH_TOP_H */
