/*
 * sentences.c
 *	  Sentences on a process, a line each, and the words in them that depend on
 *	  whether the process is alive.
 */
#include "postgres.h"

#include "telling/sentences.h"

/* Add a sentence, as a line: terminals wrap it at their own width. */
void
plh_sentences_add(StringInfo text, const char *format,...)
{
	int			needed;

	if (text->len > 0)
		appendStringInfoChar(text, '\n');
	do
	{
		va_list		arguments;

		va_start(arguments, format);
		needed = appendStringInfoVA(text, format, arguments);
		va_end(arguments);
		if (needed > 0)
			enlargeStringInfo(text, needed);
	} while (needed > 0);
}

/*
 * What durations up to "now" of a process end with: that of the dead is their end, and
 * that of a dump when it was written.
 */
const char *
plh_sentences_ago(const PlhExplainedProcess *process)
{
	if (process->image->alive)
		return "ago";
	if (!process->image->crashed)
		return "before the dump";
	return process->image->header->death.at != 0 ? "before it died" :
		"before it was last heard of";
}

/* The form of a verb that goes with a process that lives, or with one that is over. */
const char *
plh_sentences_tense(const PlhExplainedProcess *process, const char *now, const char *past)
{
	return process->image->alive ? now : past;
}
