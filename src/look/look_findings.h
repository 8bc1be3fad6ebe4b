/*
 * look_findings.h
 *	  What is said of a process that was looked at, beside its statistics of memory contexts.
 */
#pragma once

#include "look/look_heap.h"
#include "telling/sentences.h"

/* What the kernel says of its memory; -1: not known. */
typedef struct PlhLookFacts
{
	int64		private_bytes;
	int64		shared_bytes;
	int64		swapped_bytes;
	int64		page_table_bytes;
} PlhLookFacts;

/* While the process is there. */
extern PlhLookFacts plh_look_findings_ask(int pid);

/* In sentences, as further lines. */
extern void plh_look_findings_say(PlhSaid *said, const PlhLookHeap *heap,
								  const PlhLookFacts *facts);

/* For programs: a member of an object of JSON. */
extern void plh_look_findings_put(StringInfo json, const PlhLookHeap *heap,
								  const PlhLookFacts *facts);
