/*
 * test_shared_frames.c
 *	  Which function most of the bytes of several stacks went through.
 */
#include "postgres.h"

#include "profile/shared_frames.h"
#include "unit_tests.h"

#define ROOM 64

static PlhSharedFrame places[ROOM];
static PlhSharedFrames frames;

static void
begin(void)
{
	memset(places, 0, sizeof(places));
	plh_shared_frames_begin(&frames, places, ROOM);
}

/* Add a stack, whose functions are letters, the innermost first; a blank says nothing. */
static void
add(double bytes, const char *stack)
{
	plh_shared_frames_begin_stack(&frames, bytes);
	for (; *stack != '\0'; stack++)
		if (*stack == ' ')
			plh_shared_frames_skip(&frames);
		else
			plh_shared_frames_add(&frames, *stack, stack);
}

/* The shared functions, from the innermost on. */
static const char *
shared(void)
{
	static char names[ROOM + 1];
	const PlhSharedFrame *frame = NULL;
	int			count = 0;

	while ((frame = plh_shared_frames_next(&frames, frame)) != NULL)
		names[count++] = (char) frame->id;
	names[count] = '\0';
	return names;
}

static void
test_rule(void)
{
	begin();
	ok(plh_shared_frames_next(&frames, NULL) == NULL, "of no stack nothing is shared");
	add(30, "apm");
	add(30, "bpm");
	add(30, "cqpm");
	add(10, "xm");
	ok(strcmp(shared(), "pm") == 0, "the innermost function of four fifths comes first");
	ok(!plh_shared_frames_is_site(&frames, plh_shared_frames_next(&frames, NULL)),
	   "and is no call site if it only leads there");
	add(20, "xm");
	ok(strcmp(shared(), "m") == 0, "one that has less is not shared");
}

static void
test_recursion(void)
{
	begin();
	for (int i = 0; i < 10; i++)
		add(10, "cqqqqqqqqqsm");
	add(10, "cqqsm");
	add(10, "cqsm");
	ok(strcmp(shared(), "cqsm") == 0, "a function that calls itself counts once in a stack");
	ok(plh_shared_frames_is_site(&frames, plh_shared_frames_next(&frames, NULL)),
	   "and a call site that all of them have is one");
	begin();
	add(70, "am");
	add(30, "bqqqm");
	ok(strcmp(shared(), "m") == 0, "a recursion makes no stack count more than once");
	begin();
	add(50, "abcm");
	add(50, "acbm");
	ok(strcmp(shared(), "abcm") == 0, "functions that call each other are shared in any order");
	begin();
	add(50, "ax m");
	add(50, "ay m");
	ok(strcmp(shared(), "am") == 0, "one that is called on two ways is shared, and what says nothing is not");
}

/* Without room for all functions, those that are entered have what they have. */
static void
test_room(void)
{
	bool		is_sound = true;

	begin();
	for (int i = 0; i < 1000; i++)
	{
		plh_shared_frames_begin_stack(&frames, 1);
		plh_shared_frames_add(&frames, 7, NULL);
		plh_shared_frames_add(&frames, 1000 + i, NULL);
	}
	for (int i = 0; i < ROOM; i++)
		is_sound = is_sound && places[i].bytes <= 1000 && places[i].stacks <= 1000;
	ok(is_sound && frames.used < ROOM, "what has no place is left out");
	ok(plh_shared_frames_next(&frames, NULL) != NULL &&
	   plh_shared_frames_next(&frames, NULL)->id == 7, "and what has one is found");
}

void
test_shared_frames(void)
{
	test_rule();
	test_recursion();
	test_room();
}
