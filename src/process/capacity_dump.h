/*
 * capacity_dump.h
 *	  Keeps the record of capacity over a restart of the server.
 *
 * The keeper continues with what a crash has left beside the profiles, or else with what the last
 * server has written to the directory of the dumps when it stopped.
 */
#pragma once

#include "reader/capacity_layout.h"

/* Called first, when the module is loaded. */
extern void plh_capacity_dump_start(uint64 cluster);

/* Called by the keeper.  The record stays as it is where there is none. */
extern void plh_capacity_dump_load(PlhCapacityRecord *record);

/* Called by the keeper: what the last server has written is to be forgotten. */
extern void plh_capacity_dump_forget(void);

/* Called by the postmaster at its exit: it throws nothing. */
extern void plh_capacity_dump_save(void);
