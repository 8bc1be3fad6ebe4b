/*
 * database_text.c
 *	  Text from outside, made fit for this database.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "database_text.h"

/*
 * A palloc'd copy of the text in which, unless it is valid in the database's
 * encoding, all that is not ASCII is '?'.
 */
char *
plh_text_for_database(const char *text)
{
	char	   *copy = pstrdup(text);

	if (!pg_verifymbstr(copy, strlen(copy), true))
	{
		for (char *c = copy; *c != '\0'; c++)
		{
			if (IS_HIGHBIT_SET(*c))
				*c = '?';
		}
	}
	return copy;
}
