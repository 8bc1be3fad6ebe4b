/*
 * may_fail.h
 *	  Where the server survives an allocation that fails.
 *
 * This code runs inside palloc.
 */
#ifndef PLH_MAY_FAIL_H
#define PLH_MAY_FAIL_H

extern bool plh_may_fail(MemoryContext context);

#endif							/* PLH_MAY_FAIL_H */
