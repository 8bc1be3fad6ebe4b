/*
 * stacks.c
 *	  The stacks of simulated processes, and which of them have a function in common.
 */
#include "postgres.h"

#include "kinds.h"
#include "profile/profile.h"
#include "profile/profile_image.h"
#include "profile/shared_frames.h"
#include "stacks.h"

/* Functions that lead to others, which begin at the addresses.  Those of the server come first. */
#define MAIN_ADDRESS UINT64CONST(0x7000000)
#define EXECUTOR_ADDRESS UINT64CONST(0x7100000)
#define EXTENSION_ADDRESS UINT64CONST(0x7200000)
#define WALK_ADDRESS UINT64CONST(0x7300000)
#define FUNCTION_BYTES 0x1000

/* Functions of the sites that are looked at, at most. */
#define ROOM 512

static void
add_frame(PlhStack *stack, uint64 address)
{
	/* the profile has the address before the one that is returned to */
	stack->buffer[stack->depth++] = address + 16;
}

void
simulated_stack(int who, PlhStack *stack)
{
	stack->depth = 0;
	add_frame(stack, FUNCTION_BYTES * (uint64) Min(who, WHO_DEEP(0)));
	for (int i = WHO_DEEP(0); i < who; i++)
		add_frame(stack, WALK_ADDRESS);
	if (who >= WHO_BELOW(0, 0) && who < WHO_DEEP(0))
		add_frame(stack, EXTENSION_ADDRESS + stacks_function(who) * FUNCTION_BYTES);
	if (who >= WHO_BELOW(0, 0))
		add_frame(stack, EXECUTOR_ADDRESS);
	add_frame(stack, MAIN_ADDRESS);
}

int
stacks_function(int who)
{
	return who >= WHO_BELOW(0, 0) && who < WHO_DEEP(0) ?
		1 + (who - WHO_BELOW(0, 0)) / MOST_LEAVES : 0;
}

/*
 * The function of an extension in a frame; 0: it is one of the server's.  Half of the call sites
 * below a function lie in it, and the others in functions of their own.
 */
static uint64
function_in(const PlhStackRecord *stack, int frame)
{
	uint64		address = PLH_FRAME_ADDRESS(stack->frames[frame]) / FUNCTION_BYTES * FUNCTION_BYTES;
	int			who = WHO_AT(address);

	if (address >= EXTENSION_ADDRESS)
		return address;
	if (who < CULPRIT || address >= MAIN_ADDRESS)
		return 0;
	return stacks_function(who) != 0 && who % 2 == 0 ?
		EXTENSION_ADDRESS + stacks_function(who) * FUNCTION_BYTES : address;
}

static const PlhStackRecord *
stack_of(const PlhShare *share)
{
	return (const PlhStackRecord *) ((const char *) plh_profile + share->site->key.stack);
}

static bool
has_function(const PlhStackRecord *stack, uint64 function)
{
	for (int i = 0; i < stack->depth; i++)
		if (function_in(stack, i) == function)
			return true;
	return false;
}

/* Add a stack, if an extension allocates. */
static void
add_stack(PlhSharedFrames *frames, const PlhShare *share)
{
	const PlhStackRecord *stack = stack_of(share);

	if (function_in(stack, 0) == 0)
		return;
	plh_shared_frames_begin_stack(frames, (double) share->bytes);
	for (int i = 0; i < stack->depth; i++)
		if (function_in(stack, i) != 0)
			plh_shared_frames_add(frames, function_in(stack, i), NULL);
		else
			plh_shared_frames_skip(frames);
}

/* Give those whose call site is in the same function a number. */
static void
find_by_call_site(const PlhShare *sites, int count, int first, uint32 *causes)
{
	uint64		function = function_in(stack_of(&sites[first]), 0);

	for (int i = first; function != 0 && i < count; i++)
		if (causes[i] == 0 && function_in(stack_of(&sites[i]), 0) == function)
			causes[i] = first + 2;
}

/*
 * As telling/shared_function.c does by names, of one extension: the innermost function that most
 * was allocated in or below; else those with the same call site.
 */
void
stacks_find_causes(void *arg, const PlhShare *sites, int count, uint32 *causes)
{
	static PlhSharedFrame places[ROOM];
	PlhSharedFrames frames;
	const PlhSharedFrame *shared;

	memset(places, 0, sizeof(places));
	plh_shared_frames_begin(&frames, places, ROOM);
	for (int i = 0; i < count; i++)
		add_stack(&frames, &sites[i]);
	shared = plh_shared_frames_next(&frames, NULL);
	for (int i = 0; i < count; i++)
		causes[i] = shared != NULL && shared->stacks > 1 &&
			has_function(stack_of(&sites[i]), shared->id);
	for (int i = 0; i < count; i++)
		if (causes[i] == 0)
			find_by_call_site(sites, count, i, causes);
}

void
stacks_find_origins(void *arg, const PlhShare *sites, int count, PlhSiteOrigin *origins)
{
	uint32	   *functions = palloc(sizeof(uint32) * count);

	stacks_find_causes(arg, sites, count, functions);
	for (int i = 0; i < count; i++)
		origins[i] = (PlhSiteOrigin)
	{
		.function = functions[i]
	};
	pfree(functions);
}
