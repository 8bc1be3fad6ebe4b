/*
 * control_file.h
 *	  The file of requests: its layout, its lock, and how it is made and removed.
 *
 * control.c says what is in it.  The mapping may be read and written inside palloc.  Who changes
 * the layout changes the file's name (control_file.c).
 */
#pragma once

#include "port/atomics.h"

#define PLH_CONTROL_SLOTS 2048

/* A process has the places of its pid modulo these, until another one needs them. */
#define PLH_CONTROL_FAILURES 256
#define PLH_CONTROL_ERRANDS 1024
#define PLH_CONTROL_LIMITS 1024
#define PLH_CONTROL_PLANS 64

/* This number of roles have places of their own in the log at a time. */
#define PLH_CONTROL_LOG_PLACES 64

/* A request as it is stored: the fields of PlhControlRequest that last. */
typedef struct PlhControlEntry
{
	uint32		sequence;		/* number of the request; 0 = none */
	uint32		sampling;
	uint32		sample_interval;
	int32		scope;
} PlhControlEntry;

/* The requests to one process, or to all. */
typedef struct PlhControlSlot
{
	uint32		sequence;		/* of the last request; 0: none, or changing */
	int32		pid;
	uint64		process_start;	/* as plh_process_facts_start_ticks says */
	PlhControlEntry last;
	PlhControlEntry before;		/* in force again when the last one ends */
	int64		ends_at_us;		/* by the monotonic clock; 0 = never */
} PlhControlSlot;

/* Why the profile of a process could not be shown to others. */
typedef struct PlhControlFailure
{
	int32		pid;			/* 0: none, or changing */
	int32		error;			/* errno */
	uint64		process_start;	/* as in PlhControlSlot */
} PlhControlFailure;

/* What a process may be asked to do, once (errands.h). */
typedef enum PlhErrand
{
	PLH_ERRAND_TRIM,			/* give back to the kernel what malloc keeps */
	PLH_ERRAND_COUNT,			/* count its memory */
	PLH_ERRAND_PROVE,			/* have a child prove what is lost */
	PLH_ERRANDS					/* number of them, must be last */
} PlhErrand;

/* A request to a process, and what came of it. */
typedef struct PlhControlErrand
{
	int32		pid;			/* 0: none, or changing */
	pg_atomic_uint32 requested; /* the highest number of a request */
	pg_atomic_uint32 done;		/* requests up to this one are carried out */
	uint64		process_start;	/* as in PlhControlSlot */
	int64		result;			/* of PLH_ERRAND_TRIM: bytes given back; of
								 * PLH_ERRAND_PROVE: the child's pid, or a
								 * negative errno */
} PlhControlErrand;

/* The memory of a process, as it tells the keeper (limit_places.h). */
typedef struct PlhControlLimit
{
	int32		pid;			/* 0: none, or changing */
	int32		action;			/* PlhLimitAction */
	int64		own_bytes;
	int64		passing_bytes;	/* of these, what ends with the transaction */
	pg_atomic_uint32 asked[2];	/* pids, by PlhLimitDemand; 0: none */
} PlhControlLimit;

/* The plan that a process watches, for its parallel workers (plan/plan_result.c). */
typedef struct PlhControlPlan
{
	pg_atomic_uint32 pid;		/* 0: none, or changing */
	pg_atomic_uint32 segment;	/* handle of the dynamic shared memory */
} PlhControlPlan;

/* The exits of a role, or the findings, that the log tells in a minute (log_turns.c). */
typedef struct PlhControlLogPlace
{
	pg_atomic_uint64 minute;	/* when it began, and the exits in it */
	pg_atomic_uint32 role;		/* whose it is; 0 = never used */
} PlhControlLogPlace;

typedef struct PlhControlLog
{
	PlhControlLogPlace shared;	/* of all that have no place of their own */
	PlhControlLogPlace findings;	/* on all processes */
	PlhControlLogPlace limits;	/* beyond which processes were */
	PlhControlLogPlace places[PLH_CONTROL_LOG_PLACES];
} PlhControlLog;

/* When memory will run out, as the keeper foresees (forecast_place.h). */
typedef struct PlhControlForecast
{
	pg_atomic_uint32 changes;	/* odd: it is changing */
	bool		of_group;		/* a control group has the limit, not the
								 * machine */
	int32		pid;			/* of the process that grows most; 0: none
								 * does */
	int32		processes;		/* that grow about as much */
	int32		percent;		/* of the growth is theirs */
	int32		server_percent; /* is that of all processes of this server */
	int32		shared_percent; /* is shared memory */
	int32		waiting_percent;	/* of the time, processes wait for memory;
									 * -1: not known */
	int64		looked_at_us;	/* by the monotonic clock; 0: there is none */
	int64		left_us;		/* from then on, until the kernel kills */
	int64		soonest_us;
	int64		latest_us;
	int64		limit_bytes;
	int64		room_bytes;		/* of that */
	int64		bytes_per_second;
	int64		freed_bytes;	/* by the end of that process */
} PlhControlForecast;

typedef struct PlhControlFile
{
	uint32		sequence;		/* of the last request */
	uint32		dead_sequence;	/* requests up to this one don't count */
	pg_atomic_uint32 changes;	/* of requests and dead_sequence */
	pg_atomic_uint32 disabled;	/* pg_leakhunt.enabled is off, as last noted */
	uint32		used_slots;		/* slots below this index have been used */
	uint64		server_start;	/* of the postmaster, in ticks since boot */
	PlhControlSlot all;
	PlhControlSlot slots[PLH_CONTROL_SLOTS];
	PlhControlFailure failures[PLH_CONTROL_FAILURES];
	PlhControlLog log;
	pg_atomic_uint32 errand_requests[PLH_ERRANDS];	/* numbers given so far */
	PlhControlErrand errands[PLH_ERRANDS][PLH_CONTROL_ERRANDS];
	PlhControlLimit limits[PLH_CONTROL_LIMITS];
	pg_atomic_uint64 limit_hits;	/* also of processes that are gone */
	PlhControlPlan plans[PLH_CONTROL_PLANS];
	PlhControlForecast forecast;
} PlhControlFile;

/* The file, mapped; NULL without one. */
extern PlhControlFile *plh_control_file;

extern int	plh_control_file_map(const char *directory, uint64 cluster, bool new_server);
extern int	plh_control_file_open(void);
extern bool plh_control_file_lock(int fd);
extern uint64 plh_control_file_server_start(void);
extern bool plh_control_file_unlink(void);
