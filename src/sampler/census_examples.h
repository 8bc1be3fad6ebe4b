/*
 * census_examples.h
 *	  What the memory contexts of a name are of: a few examples of those that have most, which a
 *	  census keeps.
 *
 * These functions are a census' own: they are called inside palloc, but not in a critical section.
 */
#pragma once

#include "nodes/memnodes.h"

#include "profile/profile_layout.h"

/* A census begins, which must be brief or need not. */
extern void plh_census_examples_start(bool brief);

/* The first context of a record was met.  Returns what record->looks shall be; 0: not looked at. */
extern uint32 plh_census_examples_begin(PlhContextRecord *record, MemoryContext context);

/* A context of a record was met whose "looks" is not 0. */
extern void plh_census_examples_look(const PlhContextRecord *record,
									 MemoryContext context, int64 bytes);

/* The census has counted all contexts, and their records have the figures. */
extern void plh_census_examples_keep(void);
