/*
 * heap_fault.h
 *	  Reading memory that may not be readable: guard pages of stacks lie within their mapping, and
 *	  a file may have been cut short.
 *
 * Between plh_heap_fault_catch and plh_heap_fault_release, a fault leads back to the last
 * PLH_HEAP_FAULT_NONE, which is false then.  Whoever asks it reads in the same function, or in
 * those that it calls.
 */
#pragma once

#include <setjmp.h>

extern sigjmp_buf plh_heap_fault_place;

extern void plh_heap_fault_catch(void);
extern void plh_heap_fault_release(void);

/* Can the page be read that has this byte?  Catches faults by itself. */
extern bool plh_heap_fault_can_read(const char *byte);

#define PLH_HEAP_FAULT_NONE() (sigsetjmp(plh_heap_fault_place, 1) == 0)
