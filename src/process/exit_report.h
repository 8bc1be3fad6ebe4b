/*
 * exit_report.h
 *	  Says in the server's log what a process held when it exited.
 *
 * Callable at exit: never throws.
 */
#ifndef PLH_EXIT_REPORT_H
#define PLH_EXIT_REPORT_H

#include "process/log_turns.h"
#include "process/top_site.h"
#include "profile/dump_copy.h"
#include "profile/profile_image.h"

/* Why a process that exits is worth a dump. */
typedef struct PlhExitFindings
{
	const PlhProfileImage *image;	/* of this process */
	bool		holds_much;		/* it holds as much as dump_min_bytes asks for */
	bool		had_much;		/* it had as much as dump_min_peak asks for */
	PlhTopSite	held;			/* by which it holds most, if it holds much */
} PlhExitFindings;

extern void plh_exit_report(const PlhExitFindings *findings,
							const PlhDumpResult *dump,
							const PlhLogTurn *turn);

#endif							/* PLH_EXIT_REPORT_H */
