/*
 * own_memory.h
 *	  Reads memory of this process that may not be there.
 *
 * plh_own_memory_start is called once, when pg_leakhunt is loaded.  After that, the other functions
 * may be called inside palloc.
 */
#pragma once

extern void plh_own_memory_start(void);
extern bool plh_own_memory_copy(void *to, const void *from, Size bytes);
extern bool plh_own_memory_copy_struct(void *to, const void *from, Size bytes);
