/*
 * suppression.c
 *	  Patterns that name call sites which are known, and not to be reported.
 *
 * They mean what they mean to LeakSanitizer: a pattern is looked for anywhere
 * in a name, "*" stands for any characters, "^" for the name's start and "$"
 * for its end; "leak:" before it is allowed.  The names are the function, the
 * source file and the binary of each frame; with "context:" before the pattern,
 * that of the memory context.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "verdict/suppression.h"

#define LEAK_PREFIX "leak:"
#define CONTEXT_PREFIX "context:"

typedef struct Suppression
{
	Datum		as_given;		/* a text */
	const char *pattern;		/* without its prefix */
	bool		of_context;
} Suppression;

struct PlhSuppressions
{
	int			count;
	Suppression entries[FLEXIBLE_ARRAY_MEMBER];
};

/*
 * The patterns of an array of texts, in the current memory context, which
 * refers to the array; NULL gives none.
 */
PlhSuppressions *
plh_suppression_list(ArrayType *patterns)
{
	PlhSuppressions *list;
	Datum	   *texts = NULL;
	bool	   *nulls = NULL;
	int			count = 0;

	if (patterns != NULL)
		deconstruct_array(patterns, TEXTOID, -1, false, TYPALIGN_INT,
						  &texts, &nulls, &count);
	list = palloc0(offsetof(PlhSuppressions, entries) +
				   sizeof(Suppression) * count);
	for (int i = 0; i < count; i++)
	{
		Suppression *entry = &list->entries[list->count];

		if (nulls[i])
			continue;
		entry->as_given = texts[i];
		entry->pattern = TextDatumGetCString(texts[i]);
		entry->of_context = strncmp(entry->pattern, CONTEXT_PREFIX,
									strlen(CONTEXT_PREFIX)) == 0;
		if (entry->of_context)
			entry->pattern += strlen(CONTEXT_PREFIX);
		else if (strncmp(entry->pattern, LEAK_PREFIX, strlen(LEAK_PREFIX)) == 0)
			entry->pattern += strlen(LEAK_PREFIX);
		list->count++;
	}
	return list;
}

/*
 * Is the pattern in the name?  Where it fails, go on one character behind the
 * last start of a free part: that before the first character, or a "*".
 */
static bool
matches(const char *pattern, const char *name)
{
	const char *free_pattern = pattern;
	const char *free_name = name;

	if (name == NULL)
		return false;
	if (*pattern == '^')
	{
		free_pattern = NULL;
		pattern++;
	}
	for (;;)
	{
		if (*pattern == '*')
		{
			free_pattern = ++pattern;
			free_name = name;
		}
		else if (*pattern == '\0' ||
				 (strcmp(pattern, "$") == 0 && *name == '\0'))
			return true;
		else if (*name == *pattern && strcmp(pattern, "$") != 0)
		{
			pattern++;
			name++;
		}
		else if (free_pattern == NULL || *free_name == '\0')
			return false;
		else
		{
			pattern = free_pattern;
			name = ++free_name;
		}
	}
}

/* Is the pattern in a name of that site? */
static bool
matches_site(const Suppression *suppression, const char *context_name,
			 const PlhStackText *stack)
{
	if (suppression->of_context)
		return matches(suppression->pattern, context_name);
	for (int i = 0; stack != NULL && i < stack->frame_count; i++)
	{
		const PlhFrameText *frame = &stack->frames[i];

		if (matches(suppression->pattern, frame->function) ||
			matches(suppression->pattern, frame->file) ||
			matches(suppression->pattern, frame->module))
			return true;
	}
	return false;
}

/*
 * All patterns that match a site, as an array of texts; NULL if there are none.
 * Context and stack may be NULL, where they are not known.
 */
ArrayType *
plh_suppression_find(const PlhSuppressions *suppressions,
					 const char *context_name, const PlhStackText *stack)
{
	Datum	   *found = palloc(sizeof(Datum) * Max(suppressions->count, 1));
	int			count = 0;

	for (int i = 0; i < suppressions->count; i++)
	{
		if (matches_site(&suppressions->entries[i], context_name, stack))
			found[count++] = suppressions->entries[i].as_given;
	}
	return count == 0 ? NULL :
		construct_array(found, count, TEXTOID, -1, false, TYPALIGN_INT);
}
