/*
 * statement_limit.h
 *	  What a statement may hold at one site without being suspect, by the settings of its
 *	  process.
 *
 * Never called inside palloc.
 */
#pragma once

#include "profile/profile_image.h"

extern int64 plh_statement_limit(const PlhProfileImage *image, const PlhSiteRecord *site);
