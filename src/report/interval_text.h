/*
 * interval_text.h
 *	  Sampling intervals as people read them.
 *
 * Never called inside palloc.
 */
#ifndef PLH_INTERVAL_TEXT_H
#define PLH_INTERVAL_TEXT_H

extern const char *plh_interval_text(uint32 interval_bytes);

#endif							/* PLH_INTERVAL_TEXT_H */
