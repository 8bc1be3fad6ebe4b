/*
 * baseline.h
 *	  The live figures of a process at the time from which growth is counted.
 *
 * A baseline is a file beside the profile, which sessions write and read (reader/baseline_file.h).
 * The process itself only removes it at exit.
 *
 * These functions may be called inside palloc and at exit; they never palloc or throw.
 */
#pragma once

#include "datatype/timestamp.h"

#define PLH_BASELINE_MAGIC "PLHBASE2"

/* The live figures of one site. */
typedef struct PlhBaselineSite
{
	uint32		site;			/* offset in the profile */
	uint32		stack;			/* of its key */
	uint32		context_name;
	uint32		lifetime;
	int64		live_bytes;
	int64		live_count;
} PlhBaselineSite;

/* The file consists of this struct, with the sites by ascending offset. */
typedef struct PlhBaseline
{
	char		magic[8];
	int32		pid;			/* 0: of all processes, without sites */
	uint32		site_count;
	uint64		process_start;
	TimestampTz taken_at;
	int64		live_bytes;		/* of the process */
	uint32		round;			/* of recycling */
	uint32		seen_bytes;		/* published of the profile; 0: all */
	PlhBaselineSite sites[FLEXIBLE_ARRAY_MEMBER];
} PlhBaseline;

extern Size plh_baseline_bytes(const PlhBaseline *baseline);
extern int	plh_baseline_pid(const char *name);
extern void plh_baseline_path(char *path, Size bytes, const char *directory, int pid);
extern bool plh_baseline_is_sound(const PlhBaseline *baseline, Size bytes, int pid);
extern void plh_baseline_site(const PlhBaseline *baseline, uint32 site, int64 *bytes, int64 *count);
extern void plh_baseline_unlink(const char *directory, int pid);
