/*
 * explain_option.h
 *	  The option LEAKHUNT of EXPLAIN, where EXPLAIN has options of extensions.
 *
 * Never called inside palloc.
 */
#ifndef PLH_EXPLAIN_OPTION_H
#define PLH_EXPLAIN_OPTION_H

/* Called once, when the module is loaded. */
extern void plh_explain_option_start(void);

#endif							/* PLH_EXPLAIN_OPTION_H */
