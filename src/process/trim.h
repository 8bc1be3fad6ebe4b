/*
 * trim.h
 *	  Gives back to the kernel what malloc keeps although it was freed.
 *
 * Never called inside palloc.
 */
#pragma once

/* Give it back if somebody has asked for that.  Called after commits. */
extern void plh_trim_if_asked(void);

/* Ask a process to.  Returns the number of the request; 0: there is no way to. */
extern uint32 plh_trim_ask(int pid);

/*
 * Has the process done what that request asked for?  Then *bytes is by how much its private memory
 * has become smaller.
 */
extern bool plh_trim_is_done(int pid, uint32 request, int64 *bytes);
