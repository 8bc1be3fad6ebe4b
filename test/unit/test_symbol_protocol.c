/*
 * test_symbol_protocol.c
 *	  Answers of the symbolizer's process: read back as they were made, and where
 *	  a stranger has made them never read beyond their end.
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "symbols/debug_info.h"
#include "symbols/symbol_protocol.h"
#include "unit_tests.h"

#define ROUNDS 200000

/* An answer of that many bytes of frames, behind which nothing may be read. */
static PlhSymbolAnswer *
make_answer(const char *frames, uint32 bytes)
{
	PlhSymbolAnswer *answer = malloc(PLH_ANSWER_HEAD_BYTES + bytes);

	answer->status = PLH_MODULE_OPEN;
	answer->source = PLH_SOURCE_DEBUG_INFORMATION;
	answer->frames_bytes = bytes;
	memcpy((char *) answer + PLH_ANSWER_HEAD_BYTES, frames, bytes);
	return answer;
}

static bool
is_same_frame(const PlhSourceFrame *left, const PlhSourceFrame *right)
{
	return strcmp(left->function, right->function) == 0 &&
		(left->file == NULL) == (right->file == NULL) &&
		(left->file == NULL || strcmp(left->file, right->file) == 0) &&
		left->line == right->line && left->inlined == right->inlined;
}

/* Append as many frames as there is room for; returns how many. */
static int
fill_answer(PlhSymbolAnswer *answer, const PlhSourceFrame *frame)
{
	int			count = 0;

	while (plh_symbol_protocol_add_frame(answer, frame))
		count++;
	return count;
}

static int
count_frames(const PlhSymbolAnswer *answer)
{
	PlhSourceFrame frame;
	uint32		position = 0;
	int			count = 0;

	while (plh_symbol_protocol_next_frame(answer, &position, &frame))
		count++;
	return count;
}

static void
test_frames(void)
{
	static PlhSymbolAnswer answer;
	const PlhSourceFrame frames[] = {
		{"inner", "/src/inner.c", 1, true},
		{"", NULL, 0, false},
		{"operator new", "file with blanks", PG_INT32_MAX, true},
	};
	PlhSourceFrame frame;
	uint32		position = 0;
	bool		same = true;
	int			count;

	for (int i = 0; i < lengthof(frames); i++)
		plh_symbol_protocol_add_frame(&answer, &frames[i]);
	for (int i = 0; i < lengthof(frames); i++)
		same = same &&
			plh_symbol_protocol_next_frame(&answer, &position, &frame) &&
			is_same_frame(&frame, &frames[i]);
	ok(same, "frames are read as they were added");
	ok(!plh_symbol_protocol_next_frame(&answer, &position, &frame),
	   "no more frames are read than were added");

	count = fill_answer(&answer, &frames[0]) + lengthof(frames);
	ok(answer.frames_bytes <= PLH_ANSWER_MAX &&
	   answer.frames_bytes > PLH_ANSWER_MAX - 64 &&
	   count_frames(&answer) == count,
	   "an answer takes whole frames up to its size");
}

/* A frame of nine bytes at the end of the room. */
static void
test_last_frame(void)
{
	static struct
	{
		PlhSymbolAnswer answer;
		char		behind[16];
	}			padded;
	PlhSourceFrame frame = {.function = "ab",.file = "c",.line = 1};
	const char *broken = NULL;

	for (uint32 room = 0; room < 16; room++)
	{
		padded.answer.frames_bytes = sizeof(padded.answer.frames) - room;
		REQUIRE(broken, plh_symbol_protocol_add_frame(&padded.answer, &frame) ==
				(room >= 9));
	}
	ok_unbroken(broken, "a frame is added if there is room for all of it");
}

/* Frames with random bytes changed, cut anywhere. */
static void
test_damaged(void)
{
	static PlhSymbolAnswer whole;
	const PlhSourceFrame frame = {"function", "file.c", 7, false};
	pg_prng_state random;
	bool		inside = true;

	pg_prng_seed(&random, 1);
	while (whole.frames_bytes < 200)
		plh_symbol_protocol_add_frame(&whole, &frame);
	for (int i = 0; i < ROUNDS; i++)
	{
		uint32		bytes = pg_prng_uint64_range(&random, 0,
												 whole.frames_bytes);
		PlhSymbolAnswer *answer = make_answer(whole.frames, bytes);
		char	   *frames = (char *) answer + PLH_ANSWER_HEAD_BYTES;
		PlhSourceFrame read;
		uint32		position = 0;

		for (int j = i % 8; j > 0 && bytes > 0; j--)
			frames[pg_prng_uint64_range(&random, 0, bytes - 1)] =
				j % 2 == 0 ? '\0' : (char) pg_prng_uint32(&random);
		while (plh_symbol_protocol_next_frame(answer, &position, &read))
			inside = inside && position <= bytes && read.line >= 0 &&
				strlen(read.function) < bytes &&
				(read.file == NULL || strlen(read.file) < bytes);
		inside = inside && position <= bytes;
		free(answer);
	}
	ok(inside, "no damaged answer is read beyond its end");
}

static void
test_heads(void)
{
	static PlhSymbolAnswer answer;

	ok(plh_symbol_protocol_is_sound(&answer), "an answer without frames is sound");
	answer.frames_bytes = PLH_ANSWER_MAX;
	ok(plh_symbol_protocol_is_sound(&answer), "a full answer is sound");
	answer.frames_bytes++;
	ok(!plh_symbol_protocol_is_sound(&answer), "an answer that is too long is not sound");
	answer.frames_bytes = 0;
	answer.status = PLH_MODULE_NOT_ASKED + 1;
	ok(!plh_symbol_protocol_is_sound(&answer), "an answer of unknown status is not sound");
	answer.status = 0;
	answer.source = PLH_SOURCE_DEBUG_INFORMATION + 1;
	ok(!plh_symbol_protocol_is_sound(&answer), "an answer of unknown source is not sound");
}

static void
test_questions(void)
{
	static PlhSymbolQuestion left,
				right;

	strcpy(left.path, "/lib/library.so");
	right = left;
	right.address = 1;
	ok(plh_symbol_protocol_same_module(&left, &right),
	   "a module at another address is the same");
	right.seen_at = 1;
	ok(!plh_symbol_protocol_same_module(&left, &right),
	   "a module without build-id is another one at another time");
	left.build_id_bytes = right.build_id_bytes = PLH_BUILD_ID_MAX;
	ok(plh_symbol_protocol_same_module(&left, &right),
	   "a module with a build-id is the same at another time");
	right.build_id[PLH_BUILD_ID_MAX - 1] = 1;
	ok(!plh_symbol_protocol_same_module(&left, &right), "a module of another build-id is another one");
	right.build_id[PLH_BUILD_ID_MAX - 1] = 0;
	right.path[0] = '.';
	ok(!plh_symbol_protocol_same_module(&left, &right), "a module of another path is another one");
}

void
test_symbol_protocol(void)
{
	test_frames();
	test_last_frame();
	test_damaged();
	test_heads();
	test_questions();
}
