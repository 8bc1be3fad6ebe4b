/*
 * protobuf.h
 *	  Writes messages in the encoding of protocol buffers.
 *
 * Messages are collected in a StringInfo.  Never called inside palloc.
 */
#ifndef PLH_PROTOBUF_H
#define PLH_PROTOBUF_H

#include "lib/stringinfo.h"

/* Fields that are left out have the value 0. */
extern void plh_protobuf_number(StringInfo message, int field, int64 value);

/* The element of a repeated field, which is there if it is 0, too. */
extern void plh_protobuf_element(StringInfo message, int field, int64 value);

extern void plh_protobuf_text(StringInfo message, int field, const char *text);

/* Another message, whose buffer is emptied. */
extern void plh_protobuf_message(StringInfo message, int field,
								 StringInfo inner);

#endif							/* PLH_PROTOBUF_H */
