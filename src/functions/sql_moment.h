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

/*
 * The same of all processes that have a profile, and have not counted for a second; together they
 * are waited for as long as one.
 */
extern void plh_sql_moment_of_all(void);
