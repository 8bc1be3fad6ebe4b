/*
 * other_processes.h
 *	  Processes of a scenario that were there before the last one, and stay as they were.
 */
#ifndef OTHER_PROCESSES_H
#define OTHER_PROCESSES_H

#include "profile/profile_image.h"
#include "scenario_process.h"

typedef struct OtherProcess
{
	PlhProfileImage *image;		/* NULL: it shows no profile */
	int64		own_bytes;
	const char *state;
	PlhServerActivity activity;
	ScenarioProcess process;
} OtherProcess;

/* Keep the process as it is; what comes next is of one with another pid. */
extern void other_processes_keep(void);

/* So many more that are like the one that was kept last. */
extern void other_processes_copy(int count);

extern int	other_processes_count(void);

/* By their order; NULL: there is none with that pid. */
extern const OtherProcess *other_processes_at(int number);
extern const OtherProcess *other_processes_find(int pid);

#endif							/* OTHER_PROCESSES_H */
