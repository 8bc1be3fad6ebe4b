/*
 * symbol_protocol.h
 *	  Defines the questions of a session to the symbolizer, and its answers.
 *
 * Both processes run this code, so it calls nothing of PostgreSQL's.  One is a fork of the other,
 * so they send structs as they are in memory.  A session trusts no answer: a broken debug file may
 * have made the symbolizer write it.
 */
#pragma once

#include "base/limits.h"
#include "profile/source_frame.h"

/* A question about an address of a module. */
typedef struct PlhSymbolQuestion
{
	uint64		address;		/* or PLH_WHOLE_MODULE */
	int64		seen_at;		/* seconds since 1970 */
	uint32		build_id_bytes; /* 0: the module has none */
	unsigned char build_id[PLH_BUILD_ID_MAX];
	char		path[MAXPGPATH];
} PlhSymbolQuestion;

/* Pseudo-address: which file has a module's symbols?  The answer is one frame with that file. */
#define PLH_WHOLE_MODULE UINT64_MAX

/*
 * Pseudo-address that asks whether a file calls malloc, or another function of its family, of
 * another binary; if so the answer is one frame with the name.
 */
#define PLH_CALLED_MALLOC (UINT64_MAX - 1)

/*
 * Pseudo-address that asks which binaries a file is linked to; the answer has a frame for each,
 * with the name by which it is needed.
 */
#define PLH_LINKED_TO (UINT64_MAX - 2)

/* Room for the frames of an answer; the outer ones that do not fit are left out. */
#define PLH_ANSWER_MAX 16384

/*
 * An answer is sent up to the end of its frames, the innermost frame first.  A frame is a line
 * number (uint32, not aligned, with a flag), then the function and the file, both with their NUL.
 * An empty text stands for an unknown file.
 */
typedef struct PlhSymbolAnswer
{
	uint32		status;			/* PlhModuleStatus */
	uint32		source;			/* PlhSymbolSource */
	uint32		frames_bytes;	/* used of frames */
	char		frames[PLH_ANSWER_MAX];
} PlhSymbolAnswer;

/* The size of an answer without its frames. */
#define PLH_ANSWER_HEAD_BYTES offsetof(PlhSymbolAnswer, frames)

extern bool plh_symbol_protocol_same_module(const PlhSymbolQuestion *left,
											const PlhSymbolQuestion *right);

/* Makes it an answer without frames. */
extern void plh_symbol_protocol_set_status(PlhSymbolAnswer *answer, uint32 status);
extern bool plh_symbol_protocol_is_sound(const PlhSymbolAnswer *answer);

/* Of sound answers only.  The texts of a frame that was read lie in the answer. */
extern bool plh_symbol_protocol_add_frame(PlhSymbolAnswer *answer, const PlhSourceFrame *frame);
extern bool plh_symbol_protocol_next_frame(const PlhSymbolAnswer *answer, uint32 *position,
										   PlhSourceFrame *frame);
