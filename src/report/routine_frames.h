/*
 * routine_frames.h
 *	  Stacks in SQL's terms: of routines alone.
 *
 * Never called inside palloc.
 */
#pragma once

#include "report/site_list.h"

/* What stands for the stack of a site that no routine allocates at. */
#define PLH_NO_ROUTINE_NAME "[no routine]"

extern void plh_routine_frames_keep(PlhSiteList *list);
