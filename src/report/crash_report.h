/*
 * crash_report.h
 *	  What the log says of processes that crashed, with the names of functions.
 *
 * Names that are not found before "must_stop" says so are left out.  Never called inside palloc.
 */
#pragma once

#include "profile/profile_image.h"

/*
 * One line in the log about a process that the crash began with.  "dump_path" is NULL where no dump
 * could be written.
 */
extern void plh_crash_report_cause(const PlhProfileImage *image, const char *dump_path,
								   bool (*must_stop) (void));
