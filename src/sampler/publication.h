/*
 * publication.h
 *	  When the profile of this process gets its file, for other processes to read.
 *
 * These functions may be called inside palloc, except in a critical section; they never palloc,
 * throw or lock.  Readers call plh_publication_publish outside of palloc, to publish their own
 * profile first.
 */
#pragma once

/* A profile is published once it has this many samples or live bytes. */
#define PLH_PUBLICATION_SAMPLES 5
#define PLH_PUBLICATION_BYTES ((int64) 8 * 1024 * 1024)

extern void plh_publication_start(const char *directory);
extern void plh_publication_publish(void);

/* Also where nothing was sampled yet: so that a process that is asked for shows itself. */
extern void plh_publication_begin(void);
extern void plh_publication_if_due(int64 gap_us);
extern void plh_publication_forget(void);

/* The errno with which that process, or any, last failed to show its profile as a whole, or 0. */
extern int	plh_publication_failure_of(int pid);
extern int	plh_publication_any_failure(int *pid);
