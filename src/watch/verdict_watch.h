/*
 * verdict_watch.h
 *	  Looks at all processes for findings that are new, and has them logged.
 *
 * The keeper calls this.  Never called inside palloc.
 */
#ifndef PLH_VERDICT_WATCH_H
#define PLH_VERDICT_WATCH_H

/* Look, if it is time to.  Returns whether it was.  Never throws. */
extern bool plh_verdict_watch_look(void);

#endif							/* PLH_VERDICT_WATCH_H */
