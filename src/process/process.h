/*
 * process.h
 *	  The life of a process as far as its profile goes: load, fork, the ends of
 *	  transactions, exit.
 *
 * Never called inside palloc.
 */
#ifndef PLH_PROCESS_H
#define PLH_PROCESS_H

/* Called when the module is loaded. */
extern const char *plh_process_start(void);
extern void plh_process_give_up(const char *reason);
extern void plh_process_watch_transactions(void);

/* For readers. */
extern const char *plh_process_refusal(void);
extern bool plh_process_is_preloaded(void);

#endif							/* PLH_PROCESS_H */
