/*
 * folded.h
 *	  Writes folded stacks, which flame graph scripts and speedscope read.
 *
 * Never called inside palloc.
 */
#pragma once

#include "lib/stringinfo.h"

#include "report/site_list.h"

extern void plh_folded_append(StringInfo output, const PlhSiteList *list,
							  bool with_context, bool with_query);
