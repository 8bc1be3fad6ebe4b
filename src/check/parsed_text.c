/*
 * parsed_text.c
 *	  The statements of a text that a caller of a function has given.
 */
#include "postgres.h"

#include "tcop/tcopprot.h"

#include "check/parsed_text.h"

/* Error context callback: the error is in this text. */
static void
point_into_text(void *arg)
{
	int			position = geterrposition();

	if (position <= 0)
		return;
	errposition(0);
	internalerrposition(position);
	internalerrquery(arg);
}

List *
plh_parsed_text_read(const char *text)
{
	ErrorContextCallback pointing = {
		.previous = error_context_stack,
		.callback = point_into_text,
		.arg = unconstify(char *, text)
	};
	List	   *parsed;

	error_context_stack = &pointing;
	parsed = pg_parse_query(text);
	error_context_stack = pointing.previous;
	return parsed;
}
