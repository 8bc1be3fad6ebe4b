/*
 * failing_memory.h
 *	  private_memory whose N-th request fails, for tests.
 */
#ifndef FAILING_MEMORY_H
#define FAILING_MEMORY_H

extern int	memory_requests;	/* so far */
extern int	failing_request;	/* the first that fails; 0 = none does */

#endif							/* FAILING_MEMORY_H */
