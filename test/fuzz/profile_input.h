/*
 * profile_input.h
 *	  An input of the targets "profile" and "dump": without the history of the
 *	  header, which would be most of a small one.
 */
#ifndef PROFILE_INPUT_H
#define PROFILE_INPUT_H

#include "profile/profile_layout.h"

/* Where the history would begin in an input, and its size. */
#define INPUT_HEAD_BYTES offsetof(PlhProfileHeader, history)
#define INPUT_GAP_BYTES sizeof(((PlhProfileHeader *) NULL)->history)

#endif							/* PROFILE_INPUT_H */
