/*
 * site_origins.h
 *	  What call sites are part of: functions, phases that no setting limits, and decoding.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/finding.h"

/* What PlhCauses.find_origins is, for PlhNamedCauses. */
extern void plh_site_origins_find(void *arg, const PlhShare *sites, int count,
								  PlhSiteOrigin *origins);
