/*
 * interval_text.h
 *	  Describes sampling intervals in words.
 *
 * Never called inside palloc.
 */
#ifndef PLH_INTERVAL_TEXT_H
#define PLH_INTERVAL_TEXT_H

/* The text is a constant, or palloc'd in the current memory context. */
extern const char *plh_interval_text(uint32 interval_bytes);
extern const char *plh_interval_text_of_range(uint32 least_bytes,
											  uint32 most_bytes);

#endif							/* PLH_INTERVAL_TEXT_H */
