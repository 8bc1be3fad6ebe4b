/*
 * colliding_texts.h
 *	  Statements that hash_bytes takes for one, as a hostile role would make them.
 */
#ifndef COLLIDING_TEXTS_H
#define COLLIDING_TEXTS_H

#define COLLIDING_TEXT_BYTES 38

typedef struct CollidingTexts
{
	uint64		tried;
	char		text[COLLIDING_TEXT_BYTES + 1];
} CollidingTexts;

/* Make the next text; the struct begins with zeros. */
extern void next_colliding_text(CollidingTexts *texts);

#endif							/* COLLIDING_TEXTS_H */
