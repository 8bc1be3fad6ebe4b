/*
 * site_fields.h
 *	  What the call site holds that holds most, and where it is, as fields of sentences.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/largest_site.h"
#include "report/stack_text.h"
#include "telling/sentences.h"

/*
 * Fills in bytes, site and context.  "nameless" is set where it is NULL and the name of the site is
 * missing.
 */
extern void plh_site_fields_fill(PlhFields *fields, const PlhProfileImage *image,
								 const PlhSiteRecord *site, const PlhAccount *account,
								 PlhStackTexts *stacks, const char **nameless);
