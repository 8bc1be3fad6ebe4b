/*
 * flamegraph.h
 *	  Draws a list of sites as an interactive SVG, or writes folded stacks for other tools.
 *
 * Never called inside palloc.
 */
#pragma once

#include "lib/stringinfo.h"

#include "report/site_list.h"

/* If wanted, memory contexts and statements are the first levels. */
extern void plh_flamegraph_append(StringInfo output, const PlhSiteList *list,
								  bool with_context, bool with_query);

/* The same as folded stacks, which flame graph scripts and speedscope read. */
extern void plh_flamegraph_append_folded(StringInfo output, const PlhSiteList *list,
										 bool with_context, bool with_query);
