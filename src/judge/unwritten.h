/*
 * unwritten.h
 *	  What a process has allocated and not written to, which takes no memory yet.
 *
 * Pure functions: they allocate nothing and call nothing of the server.
 */
#pragma once

#include "judge/finding.h"

/* How much of what a finding is about was not written to, at least. */
typedef enum PlhUnwritten
{
	PLH_UNWRITTEN_LITTLE,
	PLH_UNWRITTEN_PART,
	PLH_UNWRITTEN_MOST
} PlhUnwritten;

extern int64 plh_unwritten_bytes(const PlhProfileHeader *header);
extern PlhUnwritten plh_unwritten_of(const PlhFinding *finding, const PlhProfileHeader *header);
