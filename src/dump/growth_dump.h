/*
 * growth_dump.h
 *	  Dump files of a process that grows, for when it is killed for that.
 *
 * Runs inside palloc, not in a critical section; never pallocs or throws.
 */
#ifndef PLH_GROWTH_DUMP_H
#define PLH_GROWTH_DUMP_H

extern void plh_growth_dump_if_due(void);
extern void plh_growth_dump_forget(void);

#endif							/* PLH_GROWTH_DUMP_H */
