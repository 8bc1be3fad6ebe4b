/*
 * dump_texts.h
 *	  The texts for jeprof and pprof that lie beside dumps.
 */
#pragma once

#include <time.h>

#include "profile/profile_image.h"

/*
 * Write the text of a dump, if the settings ask for it.  Callable at exit: never throws, and takes
 * memory from malloc only.  A dump is complete without its text, so that nothing is reported.
 * Returns whether it was written.
 */
extern bool plh_dump_texts_write(const char *dump_path, const PlhProfileImage *image,
								 const char *reason, TimestampTz written_at);

/*
 * Write the texts of the dumps that have none: of those that were written in a hurry, and not
 * before "since", if that is not 0.  Never throws: an ERROR about a dump becomes a line in the log,
 * any other a WARNING.
 */
extern void plh_dump_texts_make_missing(time_t since, bool (*must_stop) (void));
