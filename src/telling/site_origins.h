/*
 * site_origins.h
 *	  What call sites of a statement are part of: functions, and phases that no setting limits.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/finding.h"

/* What PlhCauses.find_origins is, for PlhNamedCauses. */
extern void plh_site_origins_find(void *arg, const PlhShare *sites, int count,
								  PlhSiteOrigin *origins);
