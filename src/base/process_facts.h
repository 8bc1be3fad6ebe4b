/*
 * process_facts.h
 *	  What the kernel tells about a process: its parent, its start, its memory.
 *
 * Callable inside palloc: plain system calls, no palloc, no stdio streams.  Any
 * process may be gone at any time, and then the answer is 0.
 */
#ifndef PLH_PROCESS_FACTS_H
#define PLH_PROCESS_FACTS_H

extern int	plh_process_facts_parent(int pid);
extern uint64 plh_process_facts_start_ticks(int pid);
extern int64 plh_process_facts_own_bytes(void);

#endif							/* PLH_PROCESS_FACTS_H */
