/*
 * look_core.h
 *	  The memory that a core file has, as a source of words.
 *
 * The kernel writes what a process may write to, and leaves out what its files have: that is read
 * from these, where they are what they were.  Nothing of a core file is trusted.
 */
#pragma once

#include "look/look_copy.h"

/*
 * Read a core file.  "binary" is the server's program; NULL: where the core file says that it was.
 * An error says why it can't be read.
 */
extern void plh_look_core_read(PlhLookCopy *copy, const char *file, const char *binary);
