/*
 * dump_format.h
 *	  What writer and reader of heap files must agree on.
 */
#ifndef PLH_DUMP_FORMAT_H
#define PLH_DUMP_FORMAT_H

#include "datatype/timestamp.h"

#define PLH_DUMP_VERSION 1

/*
 * Made-up load addresses: slots of that size, from that address on; above those
 * of executables without ASLR, below all others.
 */
#define PLH_SLOT_BITS 28
#define PLH_SLOT_COUNT ((uint64) 1 << 18)
#define PLH_SLOT_BASE ((uint64) 1 << 44)

/* The only address of a site that has no stack; in no module. */
#define PLH_NO_STACK_ADDRESS 1

/* Times are microseconds since 1970. */
#define PLH_UNIX_EPOCH_US \
	((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY)

#endif							/* PLH_DUMP_FORMAT_H */
