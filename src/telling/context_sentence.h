/*
 * context_sentence.h
 *	  What memory contexts of a name are of, as a sentence.
 *
 * Never called inside palloc.
 */
#pragma once

#include "profile/profile_image.h"
#include "telling/sentences.h"

/* The record may be NULL.  Returns false where there is nothing to say. */
extern bool plh_context_sentence_say(PlhSaid *said, const PlhContextRecord *record,
									 const PlhProfileImage *image);
