/*
 * json.c
 *	  Writes JSON that may stand within an element <script> of HTML.
 *
 * Whether a comma is due shows in the last byte: a value ends with a digit, a letter, a quote or a
 * closing bracket.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "utils/timestamp.h"

#include "report/json.h"
#include "reader/database_text.h"

/*
 * Texts are cut in their middle beyond this: nobody reads more of a name, and those of a dump from
 * elsewhere may be of any length.
 */
#define MOST_TEXT_BYTES 3000

/* A comma, unless this is the first of its object or array, or the value of a key. */
static void
part(StringInfo json)
{
	char		last = json->len == 0 ? '[' : json->data[json->len - 1];

	if (last != '{' && last != '[' && last != ':')
		appendStringInfoChar(json, ',');
}

void
plh_json_open(StringInfo json, char bracket)
{
	part(json);
	appendStringInfoChar(json, bracket);
}

void
plh_json_close(StringInfo json, char bracket)
{
	appendStringInfoChar(json, bracket);
}

void
plh_json_key(StringInfo json, const char *key)
{
	part(json);
	appendStringInfo(json, "\"%s\":", key);
}

void
plh_json_null(StringInfo json)
{
	part(json);
	appendStringInfoString(json, "null");
}

void
plh_json_number(StringInfo json, int64 value)
{
	part(json);
	appendStringInfo(json, INT64_FORMAT, value);
}

void
plh_json_if(StringInfo json, bool is_known, int64 value)
{
	if (is_known)
		plh_json_number(json, value);
	else
		plh_json_null(json);
}

void
plh_json_id(StringInfo json, int64 id)
{
	part(json);
	appendStringInfo(json, "\"" INT64_FORMAT "\"", id);
}

void
plh_json_time(StringInfo json, TimestampTz at)
{
	const int64 from_1970 = (int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;

	plh_json_if(json, at != 0 && IS_VALID_TIMESTAMP(at), at + from_1970);
}

/* Append UTF-8 up to "end" as ASCII that stands within quotes. */
static void
append_ascii(StringInfo json, const char *text, const char *end)
{
	const unsigned char *c = (const unsigned char *) text;

	while (c < (const unsigned char *) end)
	{
		pg_wchar	code = utf8_to_unicode(c);

		/* beyond 16 bits it is a pair */
		if (code > 0xFFFF)
			appendStringInfo(json, "\\u%04x\\u%04x", (unsigned) (0xD800 + ((code - 0x10000) >> 10)),
							 (unsigned) (0xDC00 + ((code - 0x10000) & 0x3FF)));
		else if (code < ' ' || code >= 0x7F || code == '<' || code == '>' || code == '&' ||
				 code == '"' || code == '\\')
			appendStringInfo(json, "\\u%04x", (unsigned) code);
		else
			appendStringInfoChar(json, (char) code);
		c += pg_utf_mblen(c);
	}
}

void
plh_json_text(StringInfo json, const char *text)
{
	char	   *utf8;
	int			length;

	if (text == NULL)
	{
		plh_json_null(json);
		return;
	}
	part(json);
	utf8 = plh_database_text_to_utf8(text);
	length = strlen(utf8);
	appendStringInfoChar(json, '"');
	if (length <= MOST_TEXT_BYTES)
		append_ascii(json, utf8, utf8 + length);
	else
	{
		int			half = pg_encoding_mbcliplen(PG_UTF8, utf8, length, MOST_TEXT_BYTES / 2);
		int			rest = length - MOST_TEXT_BYTES / 2;

		/* a character of UTF-8 begins with a byte that is none of these */
		while (((unsigned char) utf8[rest] & 0xC0) == 0x80)
			rest++;
		append_ascii(json, utf8, utf8 + half);
		appendStringInfoString(json, "...");
		append_ascii(json, utf8 + rest, utf8 + length);
	}
	appendStringInfoChar(json, '"');
	pfree(utf8);
}

void
plh_json_put_open(StringInfo json, const char *key, char bracket)
{
	plh_json_key(json, key);
	plh_json_open(json, bracket);
}

void
plh_json_put_number(StringInfo json, const char *key, int64 value)
{
	plh_json_key(json, key);
	plh_json_number(json, value);
}

void
plh_json_put_if(StringInfo json, const char *key, bool is_known, int64 value)
{
	plh_json_key(json, key);
	plh_json_if(json, is_known, value);
}

void
plh_json_put_flag(StringInfo json, const char *key, bool value)
{
	plh_json_key(json, key);
	appendStringInfoString(json, value ? "true" : "false");
}

void
plh_json_put_time(StringInfo json, const char *key, TimestampTz at)
{
	plh_json_key(json, key);
	plh_json_time(json, at);
}

void
plh_json_put_text(StringInfo json, const char *key, const char *text)
{
	plh_json_key(json, key);
	plh_json_text(json, text);
}

void
plh_json_put_zone(StringInfo json, TimestampTz at)
{
	pg_time_t	seconds = timestamptz_to_time_t(at);
	const struct pg_tm *local = pg_localtime(&seconds, session_timezone);

	plh_json_put_number(json, "utc_offset", local == NULL ? 0 : local->tm_gmtoff);
	plh_json_put_text(json, "zone", local == NULL ? "UTC" : local->tm_zone);
}
