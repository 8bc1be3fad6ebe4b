/*
 * skipped_frames.c
 *	  The innermost frames of a stack, which are ours and the allocator's.
 *
 * They are skipped by address range and not by count, as their number depends on
 * inlining and on which of palloc's many entry points was called.
 *
 * This code runs inside palloc, except for what finds the code to skip.
 */
#include "postgres.h"

#include "base/fork.h"
#include "base/page_layout.h"
#include "stack/allocation_wrappers.h"
#include "stack/modules.h"
#include "stack/server_functions.h"
#include "stack/skipped_frames.h"

/* Our own code, and that of the library that is preloaded. */
#define MAX_OWN_TEXTS 2
static PLH_SET_AT_LOAD PlhCodeRange own_texts[MAX_OWN_TEXTS];
static PLH_SET_AT_LOAD int own_text_count;

static PLH_SET_AT_LOAD PLH_LARGE PlhCodeRange allocator_ranges[PLH_MAX_ALLOCATORS];
static PLH_SET_AT_LOAD int allocator_range_count;

/* This range goes from the first of the allocator's functions to the last. */
static PLH_SET_AT_LOAD PlhCodeRange allocator_span;

/*
 * Is it an address in code whose frames are skipped?
 */
bool
plh_skipped_frames_has(uintptr_t address)
{
	for (int i = 0; i < own_text_count; i++)
	{
		if (plh_code_range_has(&own_texts[i], address))
			return true;
	}
	if (!plh_code_range_has(&allocator_span, address))
		return false;
	for (int i = 0; i < allocator_range_count; i++)
	{
		if (plh_code_range_has(&allocator_ranges[i], address))
			return true;
	}
	return false;
}

/* Skip the frames of a function from now on, if the server has it. */
static void
add_allocator(const char *name)
{
	PlhCodeRange *range = &allocator_ranges[allocator_range_count];

	if (!plh_server_functions_find(name, range))
		return;
	allocator_span.start = Min(allocator_span.start, range->start);
	allocator_span.end = Max(allocator_span.end, range->end);
	allocator_range_count++;
}

/* Find the allocator's functions in the server's dynamic symbols. */
static void
find_allocator(void)
{
	const char *function = NULL;
	int			place = 0;

	allocator_range_count = 0;
	allocator_span.start = UINTPTR_MAX;
	allocator_span.end = 0;
	while (allocator_range_count < lengthof(allocator_ranges) &&
		   (function = plh_allocation_wrappers_next(&place, PLH_FUNCTION_ALLOCATOR)) != NULL)
		add_allocator(function);

	/* the ranges had room for all of them */
	Assert(function == NULL);
}

/*
 * Skip the frames of the module that has an address in its code.
 */
void
plh_skipped_frames_add_text_of(const void *address)
{
	const PlhModule *module;

	Assert(own_text_count < MAX_OWN_TEXTS);
	plh_modules_refresh();
	module = plh_modules_find((uintptr_t) address);
	if (module == NULL)
		return;
	own_texts[own_text_count].start = module->text_start;
	own_texts[own_text_count++].end = module->text_end;
}

/*
 * Find our own code and the allocator's.
 */
void
plh_skipped_frames_start(void)
{
	plh_skipped_frames_add_text_of(plh_skipped_frames_has);
	Assert(plh_skipped_frames_has((uintptr_t) plh_skipped_frames_has));
	find_allocator();
}

/*
 * How many of these return addresses, innermost first, are frames to skip.
 */
int
plh_skipped_frames_count(const uintptr_t *addresses, int count)
{
	int			skipped = 0;

	while (skipped < count && skipped < PLH_MAX_SKIPPED &&
		   plh_skipped_frames_has(addresses[skipped] - 1))
		skipped++;
	return skipped;
}
