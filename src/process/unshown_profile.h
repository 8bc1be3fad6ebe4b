/*
 * unshown_profile.h
 *	  What is said of a process whose profile could not be shown to others.
 *
 * Never called inside palloc.  The texts are palloc'd.
 */
#pragma once

/* A sentence on why, and one on what to do; NULL if the process has not failed. */
extern const char *plh_unshown_profile_reason(int pid);
extern const char *plh_unshown_profile_hint(int pid);

/* Log that processes have failed, once for each reason. */
extern void plh_unshown_profile_report(void);
