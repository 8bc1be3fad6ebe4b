/*
 * heap_text.h
 *	  The text of a profile for jeprof and pprof.
 *
 * Callable at exit: takes memory from malloc only, reports nothing and never throws.
 */
#pragma once

#include <stdio.h>

#include "profile/profile_image.h"

/* "reason" is that of the dump, or NULL for a profile that is none.  Returns an errno, or 0. */
extern int	plh_heap_text_write(FILE *file, const PlhProfileImage *image,
								const char *reason, TimestampTz written_at);
