/*
 * json.h
 *	  Writes JSON that may stand within an element <script> of HTML.
 *
 * The text is ASCII, and has neither '<' nor '&': no name can end the element, and the client's
 * encoding does not matter.  Elements are parted by themselves.  Never called inside palloc.
 */
#pragma once

#include "datatype/timestamp.h"
#include "lib/stringinfo.h"

/* Begin and end an object or an array: '{', '}', '[' or ']'. */
extern void plh_json_open(StringInfo json, char bracket);
extern void plh_json_close(StringInfo json, char bracket);

/* The key of the next value. */
extern void plh_json_key(StringInfo json, const char *key);

/* Values. */
extern void plh_json_null(StringInfo json);
extern void plh_json_number(StringInfo json, int64 value);
extern void plh_json_if(StringInfo json, bool is_known, int64 value);

/* A number of 64 bits, as a text: JavaScript would round it. */
extern void plh_json_id(StringInfo json, int64 id);

/* A time in microseconds since 1970; null for 0 and for what no timestamp can be. */
extern void plh_json_time(StringInfo json, TimestampTz at);

/* A text of this database, cut in its middle if it is very long; null for NULL. */
extern void plh_json_text(StringInfo json, const char *text);

/* A key with its value, or with the begin of an object or an array. */
extern void plh_json_put_open(StringInfo json, const char *key, char bracket);
extern void plh_json_put_number(StringInfo json, const char *key, int64 value);
extern void plh_json_put_if(StringInfo json, const char *key, bool is_known, int64 value);
extern void plh_json_put_flag(StringInfo json, const char *key, bool value);
extern void plh_json_put_time(StringInfo json, const char *key, TimestampTz at);
extern void plh_json_put_text(StringInfo json, const char *key, const char *text);

/* The session's time zone as of that time: its offset from UTC in seconds, and its name. */
extern void plh_json_put_zone(StringInfo json, TimestampTz at);
