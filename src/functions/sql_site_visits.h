/*
 * sql_site_visits.h
 *	  The call sites of an image one after the other, as the functions of SQL that return rows
 *	  about them go through them.
 *
 * Never called inside palloc.
 */
#pragma once

#include "profile/baseline.h"
#include "report/listed_site.h"

/*
 * A function that returns the rows of a site, whose stack is not described yet.  It runs in a
 * memory context of the site.
 */
typedef void (*PlhSiteVisitor) (PlhListedSite *listed, void *arg);

extern void plh_sql_site_visits_make(const PlhProfileImage *image, const PlhBaseline *baseline,
									 PlhSiteVisitor visit, void *arg);
