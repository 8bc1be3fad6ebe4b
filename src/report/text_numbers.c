/*
 * text_numbers.c
 *	  Numbers texts in the order in which they are first met.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "base/hash_seed.h"
#include "reader/database_text.h"
#include "report/text_numbers.h"

#define SH_PREFIX text_numbers
#define SH_ELEMENT_TYPE PlhNumberedText
#define SH_KEY_TYPE const char *
#define SH_KEY text
#define SH_HASH_KEY(table, key) \
	hash_bytes_extended((const unsigned char *) (key), strlen(key), \
						(uintptr_t) (table)->private_data)
#define SH_EQUAL(table, a, b) (strcmp(a, b) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(table, element) (element)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

PlhTextNumbers *
plh_text_numbers_make(void)
{
	return text_numbers_create(CurrentMemoryContext, 1024,
							   (void *) (uintptr_t) plh_hash_seed_draw());
}

const PlhNumberedText *
plh_text_numbers_add(PlhTextNumbers *numbers, const char *text, bool *is_new)
{
	bool		found;
	PlhNumberedText *numbered = text_numbers_insert(numbers, text, &found);

	*is_new = !found;
	if (!found)
	{
		numbered->text = MemoryContextStrdup(numbers->ctx, text);
		numbered->number = numbers->members - 1;
	}
	return numbered;
}
