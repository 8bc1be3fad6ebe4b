/*
 * symbol_protocol.h
 *	  What a session asks the symbolizer's process, and what that answers.
 *
 * Runs on both sides, so it calls nothing of PostgreSQL's.  The two processes
 * are copies of one, and send structs as they are in memory.  A session trusts
 * no answer: what it reads a broken debug file may have written.
 */
#ifndef PLH_SYMBOL_PROTOCOL_H
#define PLH_SYMBOL_PROTOCOL_H

#include "base/limits.h"
#include "profile/source_frame.h"

/* A question about an address of a binary. */
typedef struct PlhSymbolQuestion
{
	uint64		address;		/* or PLH_WHOLE_MODULE */
	int64		seen_at;		/* seconds since 1970 */
	uint32		build_id_bytes; /* 0: it has none */
	unsigned char build_id[PLH_BUILD_ID_MAX];
	char		path[MAXPGPATH];
} PlhSymbolQuestion;

/*
 * The address that asks which file has a module's symbols: the answer is one
 * frame with that file.
 */
#define PLH_WHOLE_MODULE UINT64_MAX

/* Bytes of frames in an answer; frames beyond are left out. */
#define PLH_ANSWER_MAX 16384

/*
 * An answer is sent up to the end of its frames.  A frame is a line number
 * (uint32, not aligned, with a flag), the function, and the file, both texts
 * with their NUL; an empty file is not known.  The innermost frame is first.
 */
typedef struct PlhSymbolAnswer
{
	uint32		status;			/* PlhModuleStatus */
	uint32		source;			/* PlhSymbolSource */
	uint32		frames_bytes;
	char		frames[PLH_ANSWER_MAX];
} PlhSymbolAnswer;

/* What an answer has before its frames. */
#define PLH_ANSWER_HEAD_BYTES offsetof(PlhSymbolAnswer, frames)

extern bool plh_symbol_protocol_same_module(const PlhSymbolQuestion *left,
											const PlhSymbolQuestion *right);
extern bool plh_symbol_protocol_is_sound(const PlhSymbolAnswer *answer);
extern bool plh_symbol_protocol_add_frame(PlhSymbolAnswer *answer,
										  const PlhSourceFrame *frame);
extern bool plh_symbol_protocol_next_frame(const PlhSymbolAnswer *answer,
										   uint32 *position,
										   PlhSourceFrame *frame);

#endif							/* PLH_SYMBOL_PROTOCOL_H */
