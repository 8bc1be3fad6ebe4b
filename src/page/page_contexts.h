/*
 * page_contexts.h
 *	  What a page says of the memory contexts of a process: the rows of pg_leakhunt_contexts.
 *
 * Never called inside palloc.
 */
#pragma once

#include "lib/stringinfo.h"

#include "profile/baseline.h"
#include "profile/profile_image.h"

/* Members of an object; "baseline" is NULL where there is none. */
extern void plh_page_contexts_append(StringInfo json, const PlhProfileImage *image,
									 const PlhBaseline *baseline);
