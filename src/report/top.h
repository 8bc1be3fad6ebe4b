/*
 * top.h
 *	  Sums up sites per function, line, module, memory context or routine.
 *
 * Never called inside palloc.
 */
#pragma once

#include "report/site_list.h"

/* The things that get a row each. */
typedef enum PlhTopKind
{
	PLH_TOP_FUNCTION,
	PLH_TOP_LINE,
	PLH_TOP_MODULE,
	PLH_TOP_CONTEXT,
	PLH_TOP_ROUTINE
} PlhTopKind;

typedef struct PlhTopRow
{
	const char *name;
	int64		flat_bytes;		/* of sites whose innermost frame it is */
	int64		flat_count;
	int64		cum_bytes;		/* of all sites in whose stacks it is */
	int64		cum_count;
	int			last_site;		/* last site counted here: a recursive
								 * function counts each site once */
} PlhTopRow;

/* Returns a constant; NULL behind the last kind. */
extern const char *plh_top_kind_name(PlhTopKind kind);

/* The most flat bytes first.  Rows belong to the current memory context, names also to the list. */
extern PlhTopRow **plh_top_make(const PlhSiteList *list, PlhTopKind kind, int *count);
