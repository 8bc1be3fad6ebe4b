/*
 * context_examples.h
 *	  What memory contexts of a name are of, in words.
 *
 * Texts are palloc'd, in one line, and fit for this database.  Never called inside palloc.
 */
#pragma once

#include "profile/profile_image.h"

/*
 * Fills in the texts of what has most, and returns how many there are: 0 where it is not known, or
 * no longer true.  The record may be NULL.  A text of a statement or an object is cut to so many
 * characters.
 */
extern int	plh_context_examples_texts(const PlhContextRecord *record,
									   const PlhProfileImage *image, int columns,
									   char *texts[PLH_EXAMPLES]);

/* Do any of them tell how many contexts are like them? */
extern bool plh_context_examples_are_counted(const PlhContextRecord *record,
											 const PlhProfileImage *image);
