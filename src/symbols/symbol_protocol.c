/*
 * symbol_protocol.c
 *	  Defines the questions of a session to the symbolizer, and its answers.
 */
#include "postgres.h"

#include "symbols/debug_info.h"
#include "symbols/symbol_protocol.h"

/* A line number in an answer shares a word with the flag for inlining. */
#define LINE_MASK 0x7FFFFFFF
#define INLINED_FLAG 0x80000000

/* Without a build-id, the file may have been replaced between two times. */
bool
plh_symbol_protocol_same_module(const PlhSymbolQuestion *left, const PlhSymbolQuestion *right)
{
	return left->build_id_bytes == right->build_id_bytes &&
		memcmp(left->build_id, right->build_id, left->build_id_bytes) == 0 &&
		(left->build_id_bytes > 0 || left->seen_at == right->seen_at) &&
		strcmp(left->path, right->path) == 0;
}

void
plh_symbol_protocol_set_status(PlhSymbolAnswer *answer, uint32 status)
{
	answer->status = status;
	answer->source = PLH_SOURCE_NOTHING;
	answer->frames_bytes = 0;
}

/* Does the head of an answer make sense, so that its frames can be read? */
bool
plh_symbol_protocol_is_sound(const PlhSymbolAnswer *answer)
{
	return answer->status <= PLH_MODULE_NOT_ASKED &&
		answer->source <= PLH_SOURCE_DEBUG_INFORMATION &&
		answer->frames_bytes <= sizeof(answer->frames);
}

/* Append a frame to an answer.  Without room for it, return false and leave the answer as it is. */
bool
plh_symbol_protocol_add_frame(PlhSymbolAnswer *answer, const PlhSourceFrame *frame)
{
	const char *file = frame->file != NULL ? frame->file : "";
	uint32		line = ((uint32) frame->line & LINE_MASK) | (frame->inlined ? INLINED_FLAG : 0);
	Size		function_bytes = strlen(frame->function) + 1;
	Size		file_bytes = strlen(file) + 1;
	Size		bytes = sizeof(line) + function_bytes + file_bytes;
	char	   *start = answer->frames + answer->frames_bytes;

	Assert(answer->frames_bytes <= sizeof(answer->frames));
	if (bytes > sizeof(answer->frames) - answer->frames_bytes)
		return false;
	memcpy(start, &line, sizeof(line));
	memcpy(start + sizeof(line), frame->function, function_bytes);
	memcpy(start + sizeof(line) + function_bytes, file, file_bytes);
	answer->frames_bytes += bytes;
	return true;
}

/* "position" is 0 at first, and moves to the next frame.  False if no complete one is left. */
bool
plh_symbol_protocol_next_frame(const PlhSymbolAnswer *answer, uint32 *position,
							   PlhSourceFrame *frame)
{
	const char *start = answer->frames + *position;
	const char *end = answer->frames + answer->frames_bytes;
	uint32		line;
	const char *function;
	const char *function_end;
	const char *file_end;

	Assert(answer->frames_bytes <= sizeof(answer->frames) && *position <= answer->frames_bytes);
	if (end - start < (ptrdiff_t) sizeof(line))
		return false;
	memcpy(&line, start, sizeof(line));
	function = start + sizeof(line);
	function_end = memchr(function, '\0', end - function);
	if (function_end == NULL)
		return false;
	file_end = memchr(function_end + 1, '\0', end - function_end - 1);
	if (file_end == NULL)
		return false;

	frame->function = function;
	frame->file = file_end > function_end + 1 ? function_end + 1 : NULL;
	frame->line = line & LINE_MASK;
	frame->inlined = (line & INLINED_FLAG) != 0;
	*position = file_end + 1 - answer->frames;
	return true;
}
