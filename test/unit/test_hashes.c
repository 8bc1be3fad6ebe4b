/*
 * test_hashes.c
 *	  Keys that a role has chosen to have one hash take no more time than others.
 */
#include "postgres.h"

#include "reader/profile_merge.c"

#include "backend.h"
#include "colliding_texts.h"
#include "reader_tests.h"
#include "report/text_numbers.h"

#define TEXTS 100

/* The linker has all callers call the second, which counts. */
extern int	__real_plh_statement_shape_compare(const char *left, Size left_length,
											   const char *right,
											   Size right_length);
extern int	__wrap_plh_statement_shape_compare(const char *left, Size left_length,
											   const char *right,
											   Size right_length);

static int	comparisons;

int
__wrap_plh_statement_shape_compare(const char *left, Size left_length,
								   const char *right, Size right_length)
{
	comparisons++;
	return __real_plh_statement_shape_compare(left, left_length,
											  right, right_length);
}

/* Add a statement without an id. */
static uint32
add_statement(PlhProfileBuilder *profile, const char *text)
{
	uint32		offset = plh_profile_builder_add(profile, PLH_RECORD_STATEMENT,
												 offsetof(PlhStatementRecord, text) +
												 strlen(text) + 1);
	PlhStatementRecord *statement = plh_profile_builder_record(profile, offset);

	statement->query_id = 0;
	statement->text_bytes = strlen(text);
	strcpy(statement->text, text);
	return offset;
}

static void
test_statements(char (*texts)[COLLIDING_TEXT_BYTES + 1])
{
	PlhProfileMerge *merge = plh_profile_merge_begin(true, 0);
	int			kept = 0;
	int			found = 0;

	comparisons = 0;
	for (int i = 0; i < TEXTS; i++)
	{
		uint32		added = add_statement(&merge->profile, texts[i]);

		kept += keep_record(merge, added) == added;
	}
	ok(kept == TEXTS, "statements of one hash are different ones");
	ok(comparisons < TEXTS, psprintf("statements of one hash are not compared with each other: %d comparisons", comparisons));
	for (int i = 0; i < TEXTS; i++)
	{
		uint32		added = add_statement(&merge->profile, texts[i]);

		found += keep_record(merge, added) != added;
	}
	ok(found == TEXTS, "statements of one hash are found again");
}

static void
test_numbers(char (*texts)[COLLIDING_TEXT_BYTES + 1])
{
	PlhTextNumbers *numbers = plh_text_numbers_make();
	uint32		hash = 0;
	int			same = 0;
	bool		is_new;

	for (int i = 0; i < TEXTS; i++)
	{
		const PlhNumberedText *text = plh_text_numbers_add(numbers, texts[i], &is_new);

		same += i > 0 && text->hash == hash;
		hash = text->hash;
	}
	ok(same < 5, "names of one hash have others in a table");
}

void
test_hashes(void)
{
	CollidingTexts made = {0};
	char		texts[TEXTS][COLLIDING_TEXT_BYTES + 1];
	int			same = 0;

	for (int i = 0; i < TEXTS; i++)
	{
		next_colliding_text(&made);
		strcpy(texts[i], made.text);
		same += hash_bytes((const unsigned char *) made.text, COLLIDING_TEXT_BYTES) ==
			hash_bytes((const unsigned char *) texts[0], COLLIDING_TEXT_BYTES);
	}
	ok(same == TEXTS, "the hash that everybody knows takes many statements for one");
	test_statements(texts);
	test_numbers(texts);
	forget_memory();
}
