/*
 * text_numbers.h
 *	  Numbers for texts, given in the order in which texts first come.
 *
 * A table belongs, with its copies of the texts, to the memory context in which
 * it was made.  Never called inside palloc.
 */
#ifndef PLH_TEXT_NUMBERS_H
#define PLH_TEXT_NUMBERS_H

/* A text and the number that it was given. */
typedef struct PlhNumberedText
{
	const char *text;			/* key; the table's copy */
	uint32		number;			/* from 0 on */
	uint32		hash;			/* of the text, for simplehash.h */
	char		status;			/* for simplehash.h */
} PlhNumberedText;

/* The table is what simplehash.h defines. */
typedef struct text_numbers_hash PlhTextNumbers;

extern PlhTextNumbers *plh_text_numbers_make(void);
extern const PlhNumberedText *plh_text_numbers_add(PlhTextNumbers *numbers,
												   const char *text,
												   bool *is_new);

#endif							/* PLH_TEXT_NUMBERS_H */
