/*
 * process_facts.h
 *	  The parent, the start and the memory of a process, as the kernel tells.
 *
 * These functions may be called inside palloc: they make plain system calls and use neither palloc
 * nor stdio.  Any process may be gone at any time, and then the answer is 0.
 */
#pragma once

/* The start of a process that could not be looked at. */
#define PLH_TICKS_UNKNOWN PG_UINT64_MAX

extern bool plh_process_facts_read(const char *path, char *text, Size room);
extern int	plh_process_facts_parent(int pid);
extern uint64 plh_process_facts_start_ticks(int pid);
extern uintptr_t plh_process_facts_heap_start(void);
extern bool plh_process_facts_is_alive(int pid, uint64 start_ticks);
extern bool plh_process_facts_is_exiting(int pid);
extern int64 plh_process_facts_own_bytes(void);
extern bool plh_process_facts_owns(int64 bytes);
extern int64 plh_process_facts_touched_bytes(void);
extern int64 plh_process_facts_rss_anon_bytes(int pid);
extern bool plh_process_facts_has_threads(int pid);
