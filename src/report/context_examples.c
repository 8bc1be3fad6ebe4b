/*
 * context_examples.c
 *	  What memory contexts of a name are of, in words.
 *
 * The figures may be damaged ones.
 */
#include "postgres.h"

#include "base/plural.h"
#include "reader/database_text.h"
#include "reader/redaction.h"
#include "report/context_examples.h"
#include "report/one_line.h"
#include "report/words.h"

/* What statement_text.c leaves of a text of which nothing may be shown. */
#define NOTHING_KEPT "..."

/*
 * Are there many fewer contexts than when they were looked at?  Those may be gone that the examples
 * tell of.
 */
static bool
is_outdated(const PlhContextRecord *record)
{
	return record->instances < record->looked_contexts - record->looked_contexts / 4 ||
		record->bytes < record->looked_bytes - record->looked_bytes / 4;
}

static bool
is_counted(const PlhExampleRecord *example)
{
	return (example->flags & PLH_EXAMPLE_UNCOUNTED) == 0;
}

/* What an example tells of the contexts, and of how many. */
static char *
example_text(const PlhExampleRecord *example, const PlhProfileImage *image, int columns)
{
	const char *whole = plh_database_text_fit_foreign(example->text, example->text_bytes,
													  image->header->encoding);
	const char *text;

	/* it may be a statement, and names are none of its literals */
	if (strcmp(whole, NOTHING_KEPT) == 0)
		text = "a statement whose text is not kept";
	else
		text = plh_one_line(plh_redaction_statement(whole), columns);
	if (!is_counted(example))
		return pstrdup(text);
	return psprintf("%s%s" INT64_FORMAT " %s (%s) %s %s",
					example->flags & PLH_EXAMPLE_AT_LEAST ? "at least " : "",
					example->flags & PLH_EXAMPLE_ABOUT ? "about " : "",
					example->contexts,
					plh_plural(example->contexts, "context", "contexts"),
					plh_words_size(example->bytes),
					example->flags & PLH_EXAMPLE_VARIES ? "such as" : "of", text);
}

/* Fills in the examples that have a text.  Returns how many there are. */
static int
find_examples(const PlhExampleRecord *examples[PLH_EXAMPLES],
			  const PlhContextRecord *record, const PlhProfileImage *image)
{
	const PlhExampleRecord *example;
	uint32		offset = record->examples;
	int			count = 0;

	for (int i = 0; i < PLH_EXAMPLES &&
		 (example = plh_profile_image_example(image, offset)) != NULL; i++)
	{
		if (example->text_bytes > 0)
			examples[count++] = example;
		offset = example->next;
	}
	return count;
}

bool
plh_context_examples_are_counted(const PlhContextRecord *record, const PlhProfileImage *image)
{
	const PlhExampleRecord *examples[PLH_EXAMPLES];
	int			found = find_examples(examples, record, image);

	while (found > 0 && !is_counted(examples[found - 1]))
		found--;
	return found > 0;
}

int
plh_context_examples_texts(const PlhContextRecord *record,
						   const PlhProfileImage *image, int columns,
						   char *texts[PLH_EXAMPLES])
{
	const PlhExampleRecord *examples[PLH_EXAMPLES];
	bool		any_counted;
	int			found;
	int			count = 0;

	if (record == NULL || is_outdated(record))
		return 0;
	found = find_examples(examples, record, image);
	any_counted = plh_context_examples_are_counted(record, image);
	for (int i = 0; i < found; i++)
	{
		/* one of many says nothing beside those that have most */
		if (is_counted(examples[i]) || !any_counted)
			texts[count++] = example_text(examples[i], image, columns);
	}
	return count;
}
