/*
 * proof_texts.c
 *	  The texts of a proof that is made, each of which stands there once.
 */
#include "postgres.h"

#include "heap/heap.h"
#include "heap/heap_memory.h"
#include "profile/proof_layout.h"
#include "proof/proof_texts.h"

#define BUCKETS 65536
#define FORMATTED_BYTES 512

bool
plh_proof_texts_start(PlhProofTexts *texts)
{
	texts->texts = plh_heap_reserve(PLH_PROOF_TEXT_BYTES);
	texts->buckets = plh_heap_reserve(BUCKETS * sizeof(uint32));
	texts->bytes = 1;
	return texts->texts != NULL && texts->buckets != NULL;
}

static uint32
hash_of(const char *text)
{
	uint32		hash = 2166136261U;

	for (; *text != '\0'; text++)
		hash = (hash ^ (unsigned char) *text) * 16777619U;
	return hash;
}

uint32
plh_proof_texts_add(PlhProofTexts *texts, const char *text)
{
	Size		length = strlen(text);
	uint32		bucket = hash_of(text);

	if (length == 0)
		return 0;
	for (uint32 tries = 0; tries < BUCKETS; tries++, bucket++)
	{
		uint32	   *place = &texts->buckets[bucket % BUCKETS];

		if (*place == 0)
		{
			if (length >= PLH_PROOF_TEXT_BYTES - texts->bytes)
				return 0;
			*place = texts->bytes;
			memcpy(texts->texts + texts->bytes, text, length + 1);
			texts->bytes += length + 1;
			return *place;
		}
		if (strcmp(texts->texts + *place, text) == 0)
			return *place;
	}
	return 0;
}

uint32
plh_proof_texts_format(PlhProofTexts *texts, const char *format,...)
{
	char		text[FORMATTED_BYTES];
	va_list		arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return plh_proof_texts_add(texts, text);
}
