/*
 * database_text.c
 *	  Text from outside, made fit for this database.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "mb/pg_wchar.h"
#include "utils/memutils.h"

#include "reader/database_text.h"

/* All that is not ASCII becomes '?'. */
static char *
mask_non_ascii(char *text)
{
	for (char *c = text; *c != '\0'; c++)
	{
		if (IS_HIGHBIT_SET(*c))
			*c = '?';
	}
	return text;
}

/* Each byte that is in no whole character of UTF-8 becomes '?'. */
static char *
mask_invalid_utf8(char *text)
{
	char	   *c = text;

	for (int left = strlen(text); left > 0;)
	{
		int			bytes = pg_encoding_verifymbchar(PG_UTF8, c, left);

		if (bytes < 0)
		{
			*c = '?';
			bytes = 1;
		}
		c += bytes;
		left -= bytes;
	}
	return text;
}

/*
 * A palloc'd copy of the text in which, unless it is valid in the database's
 * encoding, all that is not ASCII is '?'.
 */
char *
plh_database_text_fit(const char *text)
{
	char	   *copy = pstrdup(text);

	if (!pg_verifymbstr(copy, strlen(copy), true))
		mask_non_ascii(copy);
	return copy;
}

/*
 * Text that is in the encoding of another database, possibly cut within a
 * character.  What this database can't hold becomes '?'.
 */
char *
plh_database_text_fit_foreign(const char *text, Size bytes, int encoding)
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
		mask_non_ascii(copy);
	return plh_database_text_fit(copy);
}

/*
 * The text converted to UTF-8; NULL if the server can't, or not all of it.  It
 * is valid in the database's encoding, which need not have a conversion, nor
 * must each of its characters have one.
 */
static char *
convert_to_utf8(char *text)
{
	int			encoding = GetDatabaseEncoding();
	Oid			procedure = FindDefaultConversionProc(encoding, PG_UTF8);
	Size		bytes = strlen(text);
	Size		room = bytes * MAX_CONVERSION_GROWTH + 1;
	char	   *converted;

	if (!OidIsValid(procedure) || room > PG_INT32_MAX)
		return NULL;
	converted = MemoryContextAllocHuge(CurrentMemoryContext, room);
	if (pg_do_encoding_conversion_buf(procedure, encoding, PG_UTF8,
									  (unsigned char *) text, bytes,
									  (unsigned char *) converted, room,
									  true) != bytes)
		return NULL;
	return converted;
}

/*
 * A palloc'd copy of a text of this database in UTF-8.  What that has no
 * character for is '?', and so is all that is not ASCII beside it; in a
 * database that does not know the encoding of its texts, what is not UTF-8.
 */
char *
plh_database_text_to_utf8(const char *text)
{
	int			encoding = GetDatabaseEncoding();
	char	   *copy;
	char	   *converted;

	if (encoding == PG_SQL_ASCII)
		return mask_invalid_utf8(pstrdup(text));
	copy = plh_database_text_fit(text);
	if (encoding == PG_UTF8)
		return copy;
	converted = convert_to_utf8(copy);
	return converted != NULL ? converted : mask_non_ascii(copy);
}
