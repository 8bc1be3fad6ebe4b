/*
 * process.h
 *	  Follows a process: load, fork, the ends of transactions, exit.
 *
 * Never called inside palloc.
 */
#pragma once

/*
 * Called once, when the module is loaded, by _PG_init.  plh_process_start returns NULL, or a
 * sentence for plh_process_give_up, which copies it.
 */
extern const char *plh_process_start(void);
extern void plh_process_warn_of_malloc(const char *problem);
extern void plh_process_give_up(const char *reason);
extern void plh_process_watch_transactions(void);

/*
 * Called by sessions that show the state of the server.  The refusal, which lasts as long as the
 * process, says why nothing is sampled; NULL if sampling works.  Preloaded means by the postmaster,
 * so that all processes have the module.
 */
extern const char *plh_process_refusal(void);
extern bool plh_process_is_preloaded(void);
