/*
 * sql_moment.h
 *	  Current figures of a process that somebody asks about.
 */
#pragma once

/*
 * Have a process count its memory, if the caller may see it and it has a profile.  Returns when it
 * has, or after 200 ms: then its figures are those of before.
 */
extern void plh_sql_moment_of(int pid);

/* The same of all processes that have a profile.  It returns when they have, or after 2 s. */
extern void plh_sql_moment_of_all(void);
