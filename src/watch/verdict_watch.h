/*
 * verdict_watch.h
 *	  Looks at all processes for findings that are new, and has them logged.
 *
 * The keeper calls this.  Never called inside palloc.
 */
#pragma once

/* Look, if it is time to.  Returns whether it was.  Never throws. */
extern bool plh_verdict_watch_look(void);
