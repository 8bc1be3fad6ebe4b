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

/*
 * Text that is in the encoding of another database, possibly cut within a
 * character.  What this database can't hold becomes '?'.
 */
char *
plh_foreign_text_for_database(const char *text, Size bytes, int encoding)
{
	char	   *copy = pnstrdup(text, bytes);

	bytes = strlen(copy);
	if (encoding == GetDatabaseEncoding())
	{
		/* a character that was cut off is not wrong, just not whole */
		int			valid = pg_encoding_verifymbstr(encoding, copy, bytes);

		if (bytes - valid < pg_database_encoding_max_length())
			copy[valid] = '\0';
	}
	else
	{
		for (char *c = copy; *c != '\0'; c++)
		{
			if (IS_HIGHBIT_SET(*c))
				*c = '?';
		}
	}
	return plh_text_for_database(copy);
}

/*
 * A palloc'd copy of a text of this database in UTF-8; what is not valid is
 * '?', as in a database that does not know the encoding of its texts.
 */
char *
plh_text_as_utf8(const char *text)
{
	char	   *copy = plh_text_for_database(text);
	char	   *converted = (char *)
		pg_do_encoding_conversion((unsigned char *) copy, strlen(copy),
								  GetDatabaseEncoding(), PG_UTF8);

	if (pg_encoding_verifymbstr(PG_UTF8, converted, strlen(converted)) !=
		(int) strlen(converted))
	{
		for (char *c = converted; *c != '\0'; c++)
		{
			if (IS_HIGHBIT_SET(*c))
				*c = '?';
		}
	}
	return converted;
}
