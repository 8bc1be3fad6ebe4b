/*
 * size_text.h
 *	  Sizes in words, as the server itself writes them.
 *
 * Never called inside palloc.
 */
#ifndef PLH_SIZE_TEXT_H
#define PLH_SIZE_TEXT_H

extern char *plh_size_text(int64 bytes);

#endif							/* PLH_SIZE_TEXT_H */
