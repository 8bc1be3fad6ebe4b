/*
 * text_numbers.h
 *	  Numbers texts in the order in which they are first met.
 *
 * A table and its copies of the texts belong to the memory context in which the table was made.
 * Never called inside palloc.
 */
#pragma once

/* A text and the number it was given. */
typedef struct PlhNumberedText
{
	const char *text;			/* key; the table's copy */
	uint32		number;			/* the first text has 0 */
	uint32		hash;			/* of the text, for simplehash.h */
	char		status;			/* for simplehash.h */
} PlhNumberedText;

/* simplehash.h defines the table. */
typedef struct text_numbers_hash PlhTextNumbers;

extern PlhTextNumbers *plh_text_numbers_make(void);

/*
 * The result is valid until the next call, its text as long as the table.  is_new says whether the
 * text has been added.
 */
extern const PlhNumberedText *plh_text_numbers_add(PlhTextNumbers *numbers, const char *text,
												   bool *is_new);
