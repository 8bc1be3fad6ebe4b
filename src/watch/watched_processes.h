/*
 * watched_processes.h
 *	  What the keeper remembers between two looks: judgements, findings, and what was logged.
 *
 * Its own times are of a clock that does not jump, in microseconds.  Never called inside palloc.
 */
#pragma once

#include "judge/finding.h"

/* The most findings of a process that are remembered; those seen last stay. */
#define PLH_WATCHED_FINDINGS 16

/* A finding that has become so many times as large is told again. */
#define PLH_WATCHED_GROWTH 4

/* A finding is told once it has been there for so long: many end with a statement. */
#define PLH_WATCHED_LAST_US INT64CONST(8000000)

typedef struct PlhWatchedFinding
{
	uint64		key;			/* by plh_watched_processes_key */
	int64		since;			/* seen at each judgement since then */
	int64		seen_at;		/* 0: the place is free */
	int64		told_bytes;		/* what it was when it was told; 0: never */
} PlhWatchedFinding;

typedef struct PlhWatchedProcess
{
	int			pid;			/* the key */
	TimestampTz started_at;
	int64		seen_at;
	int64		judged_at;		/* 0: never */
	int64		before_at;		/* of the judgement before that one */
	uint64		samples_taken;	/* as of then, as the next two */
	TimestampTz census_at;
	int64		bytes;			/* what it held */
	int64		proven_bytes;	/* of the finding for which it was proven last */
	TimestampTz proven_at;		/* of the last proof that was seen */
	int64		unproven_bytes; /* of what began to be suspect, as of then */
	bool		awaits;			/* it has a finding that may be told at the
								 * next look */
	PlhWatchedFinding findings[PLH_WATCHED_FINDINGS];
} PlhWatchedProcess;

/* The process of that header, as it was remembered or new. */
extern PlhWatchedProcess *plh_watched_processes_find(const PlhProfileHeader *header,
													 int64 now);

/* Is it worth being judged, as something may have changed? */
extern bool plh_watched_processes_is_due(const PlhWatchedProcess *process,
										 const PlhProfileHeader *header,
										 int64 now);

/* Note that it is being judged. */
extern void plh_watched_processes_begin_judgement(PlhWatchedProcess *process,
												  const PlhProfileHeader *header, int64 now);

/* Note a finding of the judgement.  Returns whether it is to be told. */
extern bool plh_watched_processes_note_finding(PlhWatchedProcess *process, uint64 key,
											   int64 bytes, int64 now);

/* A finding of so many bytes is being told; with 0, it is to be told at the next look. */
extern void plh_watched_processes_order(int pid, uint64 key, int64 bytes);

/* NULL: it is not known. */
extern PlhWatchedProcess *plh_watched_processes_known(int pid);

/* Judge a process at the next look, whatever its figures are. */
extern void plh_watched_processes_look_again(int pid);

/* Forget processes that were not seen since then; all, with the largest time. */
extern void plh_watched_processes_forget(int64 before);

/*
 * The key of a finding: the same for what a process is suspect of at one call site, in contexts of
 * one kind, in statements that are alike, or as a whole.
 */
extern uint64 plh_watched_processes_key(const PlhFinding *finding, const PlhProfileImage *image);
