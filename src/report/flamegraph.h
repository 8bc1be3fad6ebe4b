/*
 * flamegraph.h
 *	  Draws a list of sites: one interactive SVG that needs no other file.
 *
 * Never called inside palloc.
 */
#pragma once

#include "lib/stringinfo.h"

#include "report/site_list.h"

extern void plh_flamegraph_append(StringInfo output, const PlhSiteList *list,
								  bool with_context, bool with_query);
