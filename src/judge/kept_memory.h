/*
 * kept_memory.h
 *	  What counts tell of memory that malloc keeps although it was freed.
 *
 * Pure functions: they allocate nothing, never throw, and call nothing of the server.  The figures
 * may be damaged ones.
 */
#pragma once

#include "profile/profile_layout.h"

typedef struct PlhKeptMemory
{
	int64		bytes;
	TimestampTz since;			/* it has been much in all counts since then */

	/*
	 * It was added later, and with it private memory grew, although there was
	 * so much to use again; 0 if nothing to speak of was.
	 */
	int64		added_bytes;

	/*
	 * The most that memory contexts ever had.  Is that so little that most of
	 * what is free was used outside of them?
	 */
	int64		context_bytes;
	bool		is_from_outside;
} PlhKeptMemory;

extern PlhKeptMemory plh_kept_memory_find(const PlhProfileHeader *header);
extern int64 plh_kept_memory_came_since(const PlhProfileHeader *header, TimestampTz since);
