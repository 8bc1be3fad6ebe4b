/*
 * database_text.c
 *	  Makes text from outside fit for this database.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "reader/database_text.h"

static char *
mask_non_ascii(char *text)
{
	for (char *c = text; *c != '\0'; c++)
		if (IS_HIGHBIT_SET(*c))
			*c = '?';
	return text;
}

/* Turn each byte that is in no whole character of UTF-8 into '?', in place. */
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

static char *
fit_in_place(char *text)
{
	if (!pg_verifymbstr(text, strlen(text), true))
		mask_non_ascii(text);
	return text;
}

/* If a text is not valid in the database's encoding, all its non-ASCII bytes become '?'. */
char *
plh_database_text_fit(const char *text)
{
	return fit_in_place(pstrdup(text));
}

/*
 * Copy a text that is in the encoding of another database and may end within a character, which is
 * then left out.  If the encoding is not this database's, all non-ASCII bytes become '?'.  A
 * process without a database, which writes to the log only, gets the text as it is.
 */
char *
plh_database_text_fit_foreign(const char *text, Size bytes, int encoding)
{
	char	   *copy = pnstrdup(text, bytes);

	if (!OidIsValid(MyDatabaseId))
		return copy;
	bytes = strlen(copy);
	if (encoding == GetDatabaseEncoding())
	{
		/* only the last character may be invalid, for want of its end */
		int			valid = pg_encoding_verifymbstr(encoding, copy, bytes);

		if (bytes - valid < pg_database_encoding_max_length())
			copy[valid] = '\0';
	}
	else
		mask_non_ascii(copy);
	return fit_in_place(copy);
}

/* NULL if the server has no such conversion, or one of the characters has no counterpart. */
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
	if (pg_do_encoding_conversion_buf(procedure, encoding, PG_UTF8, (unsigned char *) text, bytes,
									  (unsigned char *) converted, room,
									  true) != bytes)
		return NULL;
	return converted;
}

/*
 * Copy a text of this database as UTF-8.  If any character cannot be converted, all non-ASCII
 * characters become '?'.  In a SQL_ASCII database, only bytes that are not valid UTF-8 do.
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

/*
 * Append a text as markup of XML or HTML: in ASCII, with character references for the rest, so that
 * it ends no element, and the client's encoding does not matter.
 */
void
plh_database_text_append_markup(StringInfo output, const char *text)
{
	const unsigned char *c = (const unsigned char *) plh_database_text_to_utf8(text);

	while (*c != '\0')
	{
		pg_wchar	code = utf8_to_unicode(c);

		/* XML 1.0 cannot express control characters, even as references */
		if (code == '\n')
			appendStringInfoString(output, "&#10;");
		else if (code < ' ' || code == 0x7F || code == 0xFFFE || code == 0xFFFF)
			appendStringInfoString(output, "&#xFFFD;");
		else if (code > 0x7F || strchr("<>&\"'", (int) code) != NULL)
			appendStringInfo(output, "&#x%X;", (unsigned) code);
		else
			appendStringInfoChar(output, (char) code);
		c += pg_utf_mblen(c);
	}
}
