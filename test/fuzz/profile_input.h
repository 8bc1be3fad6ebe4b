/*
 * profile_input.h
 *	  An input of the target "profile": a profile without the history of its header,
 *	  which would be most of a small one.
 */
#ifndef PROFILE_INPUT_H
#define PROFILE_INPUT_H

#include "profile/profile_layout.h"

/* Where the records begin in an input, and how far that is from there in a file. */
#define INPUT_HEAD_BYTES offsetof(PlhProfileHeader, history)
#define INPUT_GAP_BYTES (MAXALIGN(sizeof(PlhProfileHeader)) - INPUT_HEAD_BYTES)

#endif							/* PROFILE_INPUT_H */
