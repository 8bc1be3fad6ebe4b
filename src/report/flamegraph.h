/*
 * flamegraph.h
 *	  Draws a list of sites: one interactive SVG that needs no other file; or writes the folded
 *	  stacks of which other tools draw flame graphs.
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
