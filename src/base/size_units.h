/*
 * size_units.h
 *	  Sizes with a unit, as pg_size_pretty writes them.
 *
 * Callable inside palloc and at exit: nothing is allocated.
 */
#ifndef PLH_SIZE_UNITS_H
#define PLH_SIZE_UNITS_H

/* The text of any size, and its NUL, fit into this. */
#define PLH_SIZE_TEXT_BYTES 32

typedef struct PlhSizeText
{
	char		text[PLH_SIZE_TEXT_BYTES];
} PlhSizeText;

extern PlhSizeText plh_size_units(int64 bytes);
extern PlhSizeText plh_size_units_error(int64 error_bytes, int64 bytes);

#endif							/* PLH_SIZE_UNITS_H */
