/*
 * profile_directory.h
 *	  Chooses the directory in which the processes of this server publish their profiles, and
 *	  says why one could not be published there.
 *
 * Never called inside palloc.
 */
#pragma once

/* Called first.  Returns NULL, or a palloc'd sentence about the problem. */
extern const char *plh_profile_directory_claim(void);

/* The path lasts as long as the process. */
extern const char *plh_profile_directory_path(void);

/* Whoever needs it makes it again. */
extern bool plh_profile_directory_is_gone(void);

/* Called in the postmaster, or by a server that is a single process. */
extern void plh_profile_directory_note_server(void);

/* Only if it is empty, and no setting names it: then it is the administrator's. */
extern void plh_profile_directory_remove(void);

/*
 * A palloc'd sentence on why the profile of a process could not be shown there, and one on what to
 * do; NULL if it could.
 */
extern const char *plh_profile_directory_failure(int pid, const char **hint);

/* Log that processes have failed, once for each reason. */
extern void plh_profile_directory_report_failure(void);
