/*
 * suppression.c
 *	  Patterns that name call sites which are known, and not to be reported.
 *
 * They mean what they mean to LeakSanitizer: a pattern is looked for anywhere in a name, "*" stands
 * for any characters, "^" for the name's start and "$" for its end; "leak:" before it is allowed.
 * The names are the function, the source file and the binary of each frame; with "context:" before
 * the pattern, that of the memory context.
 */
#include "postgres.h"

#include "telling/suppression.h"

#define LEAK_PREFIX "leak:"
#define CONTEXT_PREFIX "context:"

/* Fill in a suppression, which refers to the texts that are given. */
void
plh_suppression_parse(PlhSuppression *suppression, const char *given, const char *reason)
{
	suppression->given = given;
	suppression->reason = reason;
	suppression->pattern = given;
	suppression->of_context = strncmp(given, CONTEXT_PREFIX, strlen(CONTEXT_PREFIX)) == 0;
	if (suppression->of_context)
		suppression->pattern += strlen(CONTEXT_PREFIX);
	else if (strncmp(given, LEAK_PREFIX, strlen(LEAK_PREFIX)) == 0)
		suppression->pattern += strlen(LEAK_PREFIX);
}

/*
 * Is the pattern in the name?  After a mismatch, go on one character behind the place where the
 * last free part began: before the first character, or at a "*".
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
		else if (*pattern == '\0' || (strcmp(pattern, "$") == 0 && *name == '\0'))
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

/*
 * Does the suppression match a site?  The name of the context and the stack are NULL where they are
 * not known.
 */
bool
plh_suppression_matches(const PlhSuppression *suppression,
						const char *context_name, const PlhStackText *stack)
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

bool
plh_suppression_any(const PlhSuppressions *suppressions,
					const char *context_name, const PlhStackText *stack)
{
	for (int i = 0; i < suppressions->count; i++)
	{
		if (plh_suppression_matches(&suppressions->entries[i], context_name, stack))
			return true;
	}
	return false;
}
