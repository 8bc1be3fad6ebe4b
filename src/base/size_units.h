/*
 * size_units.h
 *	  Sizes with a unit, as pg_size_pretty writes them.
 *
 * Callable inside palloc and at exit: nothing is allocated.
 */
#pragma once

/* The text of any size, and its NUL, fit into this. */
#define PLH_SIZE_TEXT_BYTES 32

typedef struct PlhSizeText
{
	char		text[PLH_SIZE_TEXT_BYTES];
} PlhSizeText;

extern PlhSizeText plh_size_units(int64 bytes);
extern PlhSizeText plh_size_units_error(int64 error_bytes, int64 bytes);
