/*
 * context_sentence.h
 *	  What memory contexts of a name are of, as a sentence.
 *
 * Never called inside palloc.
 */
#pragma once

#include "lib/stringinfo.h"

#include "profile/profile_image.h"

/* The record may be NULL.  Returns false where there is nothing to say. */
extern bool plh_context_sentence_say(StringInfo text, const PlhContextRecord *record,
									 const PlhProfileImage *image);
