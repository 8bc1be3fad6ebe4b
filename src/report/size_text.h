/*
 * size_text.h
 *	  Writes sizes with a unit, as pg_size_pretty does.
 *
 * Never called inside palloc.
 */
#ifndef PLH_SIZE_TEXT_H
#define PLH_SIZE_TEXT_H

/* The text is palloc'd in the current memory context. */
extern char *plh_size_text(int64 bytes);

#endif							/* PLH_SIZE_TEXT_H */
