/*
 * unwind_rules.h
 *	  How to get from a frame of the stack to its caller, by the tables for
 *	  unwinding that modules have.
 *
 * These functions may be called inside palloc; they never palloc, throw or lock,
 * and are not reentrant.
 */
#ifndef PLH_UNWIND_RULES_H
#define PLH_UNWIND_RULES_H

#include "stack/call_frame_info.h"

extern PlhUnwindRule *plh_unwind_rules_find(uintptr_t return_address);
extern void plh_unwind_rules_forget(void);

#endif							/* PLH_UNWIND_RULES_H */
