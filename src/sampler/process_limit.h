/*
 * process_limit.h
 *	  Refuses an allocation where the process, or the server, has more memory than it may have.
 *
 * This code runs inside palloc.
 */
#pragma once

#include "base/settings.h"

/* What is beyond a limit, and what comes of it. */
typedef struct PlhLimitExcess
{
	bool		of_server;		/* all processes together; else this one */
	bool		ends_session;	/* which is idle; else it is a palloc */
	int			action;			/* PlhLimitAction */
	int64		limit_bytes;
	int64		own_bytes;		/* of this process */
	MemoryContext context;		/* that of the palloc; else NULL */
	Size		request_bytes;
} PlhLimitExcess;

/* Tells of it, before it happens, where an ERROR could be thrown; but it must not throw one. */
typedef void (*PlhLimitReporter) (const PlhLimitExcess *excess);

extern void plh_process_limit_start(PlhLimitReporter reporter);
extern bool plh_process_limit_asks(MemoryContext context, Size size, uint32 interval);
extern void plh_process_limit_counted(void);	/* by a census */
extern void plh_process_limit_committed(void);
extern void plh_process_limit_forget(void);

/* Does the server survive an allocation that fails there, at the cost of a transaction? */
extern bool plh_process_limit_may_fail(MemoryContext context);

static inline bool
plh_process_limit_is_set(void)
{
	return unlikely(plh_process_memory_limit > 0 || plh_server_memory_limit > 0);
}

/* Called in the slow path.  The size is what is added; the interval is 0 if it is no sample. */
static inline bool
plh_process_limit_refuses(MemoryContext context, Size size, uint32 interval)
{
	return plh_process_limit_is_set() && plh_process_limit_asks(context, size, interval);
}
