/*
 * colliding_texts.c
 *	  Statements that hash_bytes takes for one, as a hostile role would make them.
 *
 * hash_bytes adds 12 bytes to its state, mixes it, adds the next 12, and so on.  So for
 * any first bytes there are 12 that bring the state to where it is for all others.  They
 * stand in a quoted name, which the shape of a statement keeps, and are of ASCII.
 */
#include "postgres.h"

#include "colliding_texts.h"

/* The state that all texts have after 36 bytes: any would do. */
#define GOAL 0x51ed270b

static inline uint32
rotated(uint32 x, int bits)
{
	return x << bits | x >> (32 - bits);
}

/* As mix() of hashfn.c. */
static void
mix(uint32 *state)
{
	static const int bits[] = {4, 6, 8, 16, 19, 4};
	uint32		a = state[0];
	uint32		b = state[1];
	uint32		c = state[2];

	for (int i = 0; i < 6; i += 3)
	{
		a -= c;
		a ^= rotated(c, bits[i]);
		c += b;
		b -= a;
		b ^= rotated(a, bits[i + 1]);
		a += c;
		c -= b;
		c ^= rotated(b, bits[i + 2]);
		b += a;
	}
	state[0] = a;
	state[1] = b;
	state[2] = c;
}

/* Add 12 bytes of a text. */
static void
add(uint32 *state, const char *text)
{
	for (int i = 0; i < 3; i++)
	{
		uint32		word;

		memcpy(&word, text + 4 * i, 4);
		state[i] += word;
	}
	mix(state);
}

/* May these four bytes stand in a quoted name, and be no secret? */
static bool
is_name(uint32 word)
{
	for (int i = 0; i < 4; i++, word >>= 8)
	{
		char		c = (char) word;

		if (c <= ' ' || c > '~' || c == '"' || c == ':' || c == '\\')
			return false;
	}
	return true;
}

/* Write a number as 12 letters: printf would take most of the time. */
static void
put_number(char *text, uint64 number)
{
	for (int i = 0; i < 12; i++, number >>= 4)
		text[i] = (char) ('a' + (number & 15));
}

void
next_colliding_text(CollidingTexts *texts)
{
	uint32		begun[3];
	uint32		words[3];

	memcpy(texts->text, "SELECT \"aaaa", 12);
	for (int i = 0; i < 3; i++)
		begun[i] = 0x9e3779b9 + COLLIDING_TEXT_BYTES + 3923095;
	add(begun, texts->text);
	do
	{
		uint32		state[3] = {begun[0], begun[1], begun[2]};

		put_number(texts->text + 12, texts->tried++);
		add(state, texts->text + 12);
		for (int i = 0; i < 3; i++)
			words[i] = GOAL - state[i];
	} while (!is_name(words[0]) || !is_name(words[1]) || !is_name(words[2]));
	memcpy(texts->text + 24, words, 12);
	strcpy(texts->text + 36, "\"x");
}
