/*
 * control_file.h
 *	  The file of requests: its layout, its lock, and how it is made and removed.
 *
 * control.c says what is in it.  The mapping may be read and written inside palloc.
 * Who changes the layout changes the file's name (control_file.c).
 */
#ifndef PLH_CONTROL_FILE_H
#define PLH_CONTROL_FILE_H

#include "port/atomics.h"

#define PLH_CONTROL_SLOTS 2048

/* A request: how to sample, the fields of PlhControlWish. */
typedef struct PlhControlRequest
{
	uint32		sequence;		/* number of the request; 0 = none */
	uint32		sampling;
	uint32		sample_interval;
	int32		scope;
} PlhControlRequest;

/* The requests to one process, or to all. */
typedef struct PlhControlSlot
{
	uint32		sequence;		/* of the last request; 0: none, or changing */
	int32		pid;
	uint64		process_start;	/* as plh_process_facts_start_ticks says */
	PlhControlRequest last;
	PlhControlRequest before;	/* in force again when the last one ends */
	int64		ends_at_us;		/* by the monotonic clock; 0 = never */
} PlhControlSlot;

typedef struct PlhControlFile
{
	uint32		sequence;		/* of the last request */
	uint32		dead_sequence;	/* requests up to this one don't count */
	pg_atomic_uint32 changes;	/* of requests and dead_sequence */
	pg_atomic_uint32 disabled;	/* pg_leakhunt.enabled is off, as last noted */
	uint32		used_slots;		/* slots from this index on have never been
								 * used */
	uint64		server_start;	/* of the postmaster, in clock ticks since
								 * boot */
	PlhControlSlot all;
	PlhControlSlot slots[PLH_CONTROL_SLOTS];
} PlhControlFile;

/* The file, mapped; NULL without one. */
extern PlhControlFile *plh_control_file;

extern int	plh_control_file_map(const char *directory, bool new_server);
extern int	plh_control_file_open(void);
extern bool plh_control_file_lock(int fd);
extern uint64 plh_control_file_server_start(void);
extern bool plh_control_file_unlink(void);

#endif							/* PLH_CONTROL_FILE_H */
