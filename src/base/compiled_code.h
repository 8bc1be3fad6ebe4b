/*
 * compiled_code.h
 *	  How to get from a frame of code that was compiled at run time (JIT) to its
 *	  caller.
 *
 * plh_compiled_code_start is called once, when pg_leakhunt is loaded.  After that, the
 * other function may be called inside palloc; it never pallocs, throws or locks, and
 * is not reentrant.
 */
#ifndef PLH_COMPILED_CODE_H
#define PLH_COMPILED_CODE_H

#include "base/call_frame_info.h"

extern void plh_compiled_code_start(void);
extern bool plh_compiled_code_rule(uintptr_t return_address,
								   PlhUnwindRule *rule);

#endif							/* PLH_COMPILED_CODE_H */
