/*
 * protobuf.c
 *	  Writes messages in the encoding of protocol buffers.
 */
#include "postgres.h"

#include "pprof/protobuf.h"

/* The tag of a field has its number and how its value is encoded. */
#define WIRE_VARINT 0
#define WIRE_BYTES 2
#define TAG(field, wire_type) ((field) << 3 | (wire_type))

/* Append a number in groups of 7 bits, the lowest first. */
static void
append_varint(StringInfo message, uint64 value)
{
	while (value >= 0x80)
	{
		appendStringInfoChar(message, (char) (value | 0x80));
		value >>= 7;
	}
	appendStringInfoChar(message, (char) value);
}

/* Append a field of bytes: a text or a message. */
static void
append_bytes(StringInfo message, int field, const char *bytes, int length)
{
	append_varint(message, TAG(field, WIRE_BYTES));
	append_varint(message, length);
	appendBinaryStringInfo(message, bytes, length);
}

/*
 * Append a field with a number; 0 is the default, and is omitted.
 */
void
plh_protobuf_number(StringInfo message, int field, int64 value)
{
	if (value != 0)
		plh_protobuf_element(message, field, value);
}

/*
 * Append an element of a repeated field, which may be 0.
 */
void
plh_protobuf_element(StringInfo message, int field, int64 value)
{
	append_varint(message, TAG(field, WIRE_VARINT));
	append_varint(message, (uint64) value);
}

/*
 * Append a text, which should be UTF-8.
 */
void
plh_protobuf_text(StringInfo message, int field, const char *text)
{
	append_bytes(message, field, text, strlen(text));
}

/*
 * Append a message as a field of another one, and empty its buffer.
 */
void
plh_protobuf_message(StringInfo message, int field, StringInfo inner)
{
	append_bytes(message, field, inner->data, inner->len);
	resetStringInfo(inner);
}
