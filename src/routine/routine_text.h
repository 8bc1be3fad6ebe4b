/*
 * routine_text.h
 *	  Names of routines.
 *
 * These functions may be called inside palloc.
 */
#pragma once

#include "routine/routine_reader.h"

/* The code of DO has no name. */
#define PLH_DO_BLOCK "DO block"

extern bool plh_routine_text_is_there(const char *text);
extern void plh_routine_text_put(PlhRoutine *routine,...);
