/*
 * compiled_code.h
 *	  How to get from a frame of code that was compiled at run time (JIT) to its caller.
 *
 * May be called inside palloc; never pallocs, throws or locks, and is not reentrant.
 */
#pragma once

#include "stack/call_frame_info.h"

extern bool plh_compiled_code_rule(uintptr_t return_address, PlhUnwindRule *rule);
