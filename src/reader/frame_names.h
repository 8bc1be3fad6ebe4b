/*
 * frame_names.h
 *	  The names of functions that a dump brings along, so that its stacks can be read where its
 *	  modules are not installed.
 *
 * Names belong to the memory context in which they were read or made.  Never called inside palloc.
 */
#pragma once

#include "lib/stringinfo.h"

#include "profile/profile_layout.h"
#include "profile/source_frame.h"

typedef struct PlhFrameNames PlhFrameNames;

/* Add one of the functions at a frame, the innermost first. */
extern void plh_frame_names_add(StringInfo part, PlhFrame frame, const PlhSourceFrame *source);

/* The bytes of a part of a dump, which may be any, and must last. */
extern PlhFrameNames *plh_frame_names_read(const char *part, Size bytes);

/* The functions at a frame, innermost first; none is NULL, and a count of 0. */
extern const PlhSourceFrame *plh_frame_names_find(const PlhFrameNames *names,
												  PlhFrame frame, int *count);

/* The next frame with its functions; "position" is 0 at first.  NULL: the end. */
extern const PlhSourceFrame *plh_frame_names_next(const PlhFrameNames *names, int *position,
												  PlhFrame *frame, int *count);
