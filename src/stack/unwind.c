/*
 * unwind.c
 *	  The stack of the running function, through libunwind or, on aarch64, by frame records.
 *
 * plh_unwind_capture runs inside palloc.
 *
 * The innermost frames, which are ours and the allocator's, are skipped by address range and not by
 * count, as their number depends on inlining and on which of palloc's many entry points was called.
 *
 * The procedure call standard of aarch64 lets x29 point to a record of two words: where the
 * caller's record is, and the return address.  Compilers keep it up by default, and the function at
 * the start of a stack stores a null.  libunwind before 1.7 does not know how functions sign their
 * return addresses (-mbranch-protection): it ends the stack there, or dereferences a signed address
 * and crashes the server.  From 1.7 on, unw_backtrace returns signed addresses.
 */
#include "postgres.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "base/fork.h"
#include "base/own_memory.h"
#include "base/page_layout.h"
#include "stack/allocation_wrappers.h"
#include "stack/modules.h"
#include "stack/unwind.h"

#ifdef __aarch64__
#define PLH_HAVE_FRAME_RECORDS 1
#else
#define PLH_HAVE_FRAME_RECORDS 0
#endif

/* What its parent has found wrong, a child leaves alone, too. */
PLH_SURVIVES_FORK uint64 plh_unwind_compared_stacks;
PLH_SURVIVES_FORK uint32 plh_unwind_wrong_stacks;

/* So many modules were unloaded when what is known of code was last forgotten. */
static PLH_SAME_IN_CHILD unsigned long long unloaded;

#if !PLH_HAVE_FRAME_RECORDS
/* It was forgotten since libunwind was first asked. */
static PLH_SAME_IN_CHILD bool was_forgotten;
#endif

/* Our own code, and that of the library that is preloaded. */
#define MAX_OWN_TEXTS 2
static PLH_SET_AT_LOAD PlhCodeRange own_texts[MAX_OWN_TEXTS];
static PLH_SET_AT_LOAD int own_text_count;

static PLH_SET_AT_LOAD PLH_LARGE PlhCodeRange allocator_ranges[PLH_MAX_ALLOCATORS];
static PLH_SET_AT_LOAD int allocator_range_count;

/* This range goes from the first of the allocator's functions to the last. */
static PLH_SET_AT_LOAD PlhCodeRange allocator_span;

static bool
is_skipped(uintptr_t address)
{
	for (int i = 0; i < own_text_count; i++)
		if (plh_code_range_has(&own_texts[i], address))
			return true;
	if (!plh_code_range_has(&allocator_span, address))
		return false;
	for (int i = 0; i < allocator_range_count; i++)
		if (plh_code_range_has(&allocator_ranges[i], address))
			return true;
	return false;
}

/* Find the allocator's functions in the server's dynamic symbols, to skip their frames. */
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
	{
		PlhCodeRange *range = &allocator_ranges[allocator_range_count];

		if (!plh_allocation_wrappers_code(function, range))
			continue;
		allocator_span.start = Min(allocator_span.start, range->start);
		allocator_span.end = Max(allocator_span.end, range->end);
		allocator_range_count++;
	}

	/* the ranges had room for all of them */
	Assert(function == NULL);
}

void
plh_unwind_skip_text_of(const void *address)
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

/* How many of these return addresses, innermost first, are frames to skip. */
static int
count_skipped(const uintptr_t *addresses, int count)
{
	int			skipped = 0;

	while (skipped < count && skipped < PLH_MAX_SKIPPED && is_skipped(addresses[skipped] - 1))
		skipped++;
	return skipped;
}

/* By the tables for unwinding; false if they don't say. */
bool
plh_unwind_function_of(uintptr_t address, PlhCodeRange *function)
{
	unw_proc_info_t info;

	if (unw_get_proc_info_by_ip(unw_local_addr_space, address, &info, NULL) != 0)
		return false;
	function->start = info.start_ip;
	function->end = info.end_ip;
	return true;
}

/* libunwind is asked for one frame more than is wanted: that shows a deeper stack. */
static int
needed_frames(int max_depth)
{
	return max_depth + PLH_MAX_SKIPPED + 1;
}

/* Other code may lie where a module was unloaded: forget all that is known of code. */
static pg_noinline void
forget_code(void)
{
	unloaded = plh_modules_unloaded;
#if !PLH_HAVE_FRAME_RECORDS
	was_forgotten = true;
#endif
	plh_stack_walk_forget_rules();
	plh_stack_memo_forget();
	unw_flush_cache(unw_local_addr_space, 0, 0);
}

/* Of what was unloaded before the last look at modules. */
static inline void
forget_after_unload(void)
{
	if (unlikely(unloaded != plh_modules_unloaded))
		forget_code();
}

/* Look at the modules first, and do the same.  That takes the linker's lock, which is recursive. */
static inline void
look_for_unloads(void)
{
	plh_modules_refresh();
	forget_after_unload();
}

#if PLH_HAVE_FRAME_RECORDS

/* A record, during a walk. */
typedef struct FrameRecord
{
	uintptr_t	at;
	uintptr_t	caller;			/* where the caller's is */
	uintptr_t	return_address; /* may be signed */
} FrameRecord;

/* What the two words are. */
#define RECORD_BYTES (2 * sizeof(uintptr_t))

/*
 * Returns a return address without its signature.  The instruction does nothing on processors that
 * do not sign, and its name is unknown to compilers for them.
 */
static inline uintptr_t
strip_signature(uintptr_t address)
{
	register uintptr_t link __asm__("x30") = address;

	/* xpaclri */
__asm__("hint #7":"+r"(link));
	return link;
}

/* Returns whether a record may be in the stack of the process, above another one. */
static inline bool
is_above(uintptr_t at, uintptr_t other)
{
	return at > other && at % sizeof(uintptr_t) == 0 && at <= plh_stack_walk_end - RECORD_BYTES;
}

/*
 * Step to the caller's record.  On the stack of the process it lies above this one; on others
 * nothing is known, and the kernel reads it.  Returns false if there is none.
 */
static inline PLH_NO_SANITIZER bool
step_to_caller(FrameRecord *record, bool in_stack)
{
	uintptr_t	at = record->caller;
	uintptr_t	words[2];

	if (in_stack)
	{
		if (!is_above(at, record->at))
			return false;
		words[0] = plh_stack_walk_word(at);
		words[1] = plh_stack_walk_word(at + sizeof(uintptr_t));
	}
	else if (at == 0 || !plh_own_memory_copy_struct(words, (const void *) at, RECORD_BYTES))
		return false;
	record->at = at;
	record->caller = words[0];
	record->return_address = words[1];
	return record->return_address != 0;
}

/*
 * Put the return addresses from here on into "addresses", the innermost first, and the ends of the
 * records of the functions that return there into "places", unless that is NULL.  Returns how many
 * there are.
 */
static pg_noinline int
step_all(uintptr_t *addresses, uintptr_t *places, int max_count)
{
	FrameRecord record = {.caller = (uintptr_t) __builtin_frame_address(0)};
	bool		in_stack = record.caller >= plh_stack_walk_low &&
		record.caller < plh_stack_walk_end;
	int			count = 0;

	while (count < max_count && step_to_caller(&record, in_stack))
	{
		if (places != NULL)
			places[count] = record.at + RECORD_BYTES;
		addresses[count++] = strip_signature(record.return_address);
	}
	return count;
}

static inline int
find_frames(uintptr_t *addresses, int max_count)
{
	return step_all(addresses, NULL, max_count);
}

#else

/* The same by libunwind; the places are the stack pointers of the frames. */
static pg_noinline int
step_all(uintptr_t *addresses, uintptr_t *places, int max_count)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t	address;
	unw_word_t	place = 0;
	int			count = 0;

	if (unw_getcontext(&context) != 0 || unw_init_local(&cursor, &context) != 0)
		return 0;
	do
	{
		if (unw_get_reg(&cursor, UNW_REG_IP, &address) != 0 ||
			(places != NULL && unw_get_reg(&cursor, UNW_REG_SP, &place) != 0))
			break;
		if (places != NULL)
			places[count] = place;
		addresses[count++] = address;
	} while (count < max_count && unw_step(&cursor) > 0);
	return count;
}

/* What unw_backtrace has noted of code it keeps for ever, while all else can be forgotten. */
static inline int
find_frames(uintptr_t *addresses, int max_count)
{
	return unlikely(was_forgotten) ? step_all(addresses, NULL, max_count) :
		unw_backtrace((void **) addresses, max_count);
}

#endif							/* PLH_HAVE_FRAME_RECORDS */

static pg_noinline void
capture_all(PlhStack *stack, int max_depth)
{
	int			captured;
	int			skipped;

	look_for_unloads();
	captured = find_frames(stack->buffer, needed_frames(max_depth) + PLH_MAX_OWN);
	skipped = count_skipped(stack->buffer, captured);
	Assert(captured <= lengthof(stack->buffer));
	stack->addresses = stack->buffer + skipped;
	stack->truncated = captured - skipped > max_depth;
	stack->depth = Min(captured - skipped, max_depth);
	stack->known = NULL;
	stack->routines = 0;
}

/* Unwinds once, so that libunwind sets itself up here and not inside a palloc. */
void
plh_unwind_start(void)
{
	PlhStack	stack;

	plh_unwind_skip_text_of(is_skipped);
	Assert(is_skipped((uintptr_t) is_skipped));
	find_allocator();
	unloaded = plh_modules_unloaded;
	plh_stack_walk_learn_stack();
	plh_own_memory_start();
	capture_all(&stack, PLH_MAX_FRAMES);
}

#if PLH_HAVE_UNWIND_RULES

/*
 * One in this number of stacks that are remembered is compared with libunwind's; with assertions,
 * or -DPLH_COMPARED_HITS=1, all are, and new ones, too.
 */
#ifndef PLH_COMPARED_HITS
#ifdef USE_ASSERT_CHECKING
#define PLH_COMPARED_HITS 1
#else
#define PLH_COMPARED_HITS 1024
#endif
#endif

/* The most bytes that remembered walks may take. */
#define FREQUENT_BYTES ((Size) 1024 * 1024)
#define RARE_BYTES ((Size) 64 * 1024)

/* Any number will do to begin with. */
static PLH_SURVIVES_FORK uint32 hits;

/* libunwind begins in this function and its callers, until it comes to where the walk starts. */
static pg_noinline bool
stack_equals_libunwind(const uintptr_t *expected, int depth, bool is_cut)
{
	uintptr_t	addresses[PLH_WALK_FRAMES + PLH_MAX_OWN + 1];
	int			captured = find_frames(addresses, lengthof(addresses));
	int			own = 0;

	while (own < captured && own < PLH_MAX_OWN && addresses[own] != expected[0])
		own++;
	if (captured - own < depth || (captured - own > depth && !is_cut))
		return false;
	return memcmp(addresses + own, expected, depth * sizeof(uintptr_t)) == 0;
}

static void
do_without_memo(void)
{
	plh_unwind_wrong_stacks++;
	plh_stack_memo_forget();
	Assert(!"a stack that was remembered is wrong");
}

static bool
stack_equals_libunwind_from(const PlhStackStart *start, const uintptr_t *expected, int depth,
							bool is_cut)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t	address;

	/* our rules are for frames that go by these registers only */
	memset(&context, 0, sizeof(context));
	context.uc_mcontext.gregs[REG_RIP] = start->address;
	context.uc_mcontext.gregs[REG_RSP] = start->stack_pointer;
	context.uc_mcontext.gregs[REG_RBP] = start->frame_pointer;
	if (unw_init_local(&cursor, &context) != 0)
		return false;
	for (int i = 0; i < depth; i++)
	{
		if ((i > 0 && unw_step(&cursor) <= 0) ||
			unw_get_reg(&cursor, UNW_REG_IP, &address) != 0 || address != expected[i])
			return false;
	}
	return is_cut || unw_step(&cursor) <= 0;
}

/* libunwind does not know compiled code, and begins anew at the caller of each such frame. */
static bool
walk_equals_libunwind(const PlhStackWalk *walk)
{
	int			part = 0;		/* where it starts */

	for (int i = 0; i <= walk->compiled_count; i++)
	{
		bool		is_last = i == walk->compiled_count;
		int			end = is_last ? walk->depth : walk->compiled[i].index + 1;
		bool		is_cut = !is_last || walk->is_cut;
		const uintptr_t *expected = walk->addresses + part;

		if (part == walk->depth)
			break;
		if (i == 0 ? !stack_equals_libunwind(expected, end, is_cut) :
			!stack_equals_libunwind_from(&walk->compiled[i - 1].caller, expected,
										 end - part, is_cut))
			return false;
		part = end;
	}
	return true;
}

/* Returns whether a walk may be used: if a rule is new, libunwind decides. */
static bool
walk_may_be_used(const PlhStackWalk *walk)
{
	bool		equal;

	if (walk->is_trusted && PLH_COMPARED_HITS != 1)
		return true;
	plh_unwind_compared_stacks++;
	equal = walk_equals_libunwind(walk);
	plh_stack_walk_judge(walk, equal);
	if (!equal && walk->is_trusted)
		do_without_memo();
	return equal;
}

static pg_noinline PlhStackMemo *
make_memo(const PlhStackStart *start, int max_depth, bool is_frequent)
{
	PlhStackWalk walk;
	PlhStackMemo *memo;

	look_for_unloads();
	if (!plh_stack_walk(&walk, start, needed_frames(max_depth)) || !walk_may_be_used(&walk))
		return NULL;
	memo = plh_stack_memo_add(start, &walk, is_frequent ? FREQUENT_BYTES : RARE_BYTES);
	if (memo != NULL)
	{
		memo->first = count_skipped(walk.addresses, walk.depth);
		memo->truncated = walk.depth - memo->first > max_depth;
		memo->depth = Min(walk.depth - memo->first, max_depth);
	}
	return memo;
}

static pg_noinline bool
memo_equals_libunwind(const PlhStackMemo *memo, const PlhStackStart *start, int max_depth)
{
	PlhStackWalk walk;

	if (memo->code_count == 0)
		return stack_equals_libunwind(memo->data, memo->address_count, memo->is_cut);
	/* the table of compiled code can't be found while no file can be opened */
	if (!plh_stack_walk(&walk, start, needed_frames(max_depth)))
		return true;
	return walk_equals_libunwind(&walk) && plh_stack_memo_is_of(memo, &walk);
}

/* Now and then a memo is compared with libunwind.  If it is wrong, all memos are given up. */
static inline bool
memo_may_be_used(const PlhStackMemo *memo, const PlhStackStart *start, int max_depth)
{
	if (likely(++hits % PLH_COMPARED_HITS != 0))
		return true;
	plh_modules_refresh();
	if (unloaded != plh_modules_unloaded)
		return false;			/* it may be of other code */
	plh_unwind_compared_stacks++;
	if (memo_equals_libunwind(memo, start, max_depth))
		return true;
	do_without_memo();
	return false;
}

/* Capture a stack that starts there by what is remembered.  Returns false if not. */
static bool
capture_known(PlhStack *stack, const PlhStackStart *start, int max_depth, bool is_frequent)
{
	PlhStackMemo *memo;

	forget_after_unload();
	memo = plh_stack_memo_find(start);
	if (memo == NULL)
		memo = make_memo(start, max_depth, is_frequent);
	else if (!memo_may_be_used(memo, start, max_depth))
		return false;
	if (memo == NULL)
		return false;
	stack->addresses = memo->data + memo->first;
	stack->depth = memo->depth;
	stack->truncated = memo->truncated;
	stack->known = &memo->known;
	stack->routines = 0;
	return true;
}

/*
 * Capture the stack of the caller from the function on that called the allocator, of which
 * "max_depth" frames are wanted, no more than PLH_MAX_FRAMES and the same in all calls.  If
 * captures are frequent, more stacks are remembered.
 *
 * The return addresses stay where libunwind, or the memo, has put them: at interval 1 even a copy
 * of 20 words shows.
 */
pg_noinline void
plh_unwind_capture(PlhStack *stack, int max_depth, bool is_frequent)
{
	/* the compiler gives this function a frame pointer, as we ask for it */
	const uintptr_t *frame = __builtin_frame_address(0);
	PlhStackStart start = {
		.address = (uintptr_t) __builtin_return_address(0),
		.stack_pointer = (uintptr_t) (frame + 2),
		.frame_pointer = frame[0]
	};

	Assert(max_depth > 0 && max_depth <= PLH_MAX_FRAMES);
	if (plh_unwind_wrong_stacks > 0 || !capture_known(stack, &start, max_depth, is_frequent))
		capture_all(stack, max_depth);
}

/* Walk over the stack from here on; false if there is a frame that rules are not for. */
static pg_noinline bool
walk_over_places(PlhStackWalk *walk)
{
	const uintptr_t *frame = __builtin_frame_address(0);
	PlhStackStart start = {
		.address = (uintptr_t) __builtin_return_address(0),
		.stack_pointer = (uintptr_t) (frame + 2),
		.frame_pointer = frame[0]
	};

	return plh_stack_walk(walk, &start, PLH_WALK_FRAMES);
}

#else

void
plh_unwind_capture(PlhStack *stack, int max_depth, bool is_frequent)
{
	Assert(max_depth > 0 && max_depth <= PLH_MAX_FRAMES);
	capture_all(stack, max_depth);
}

static bool
walk_over_places(PlhStackWalk *walk)
{
	return false;
}

#endif							/* PLH_HAVE_UNWIND_RULES */

/* Do these addresses, of a stack of which more may be known, belong to a captured one? */
static bool
is_stack(const PlhStackWalk *placed, int first, const PlhStack *stack)
{
	for (int i = 0; i < stack->depth && first + i < placed->depth; i++)
		if (stack->addresses[i] != placed->addresses[first + i] &&
			stack->addresses[i] != PLH_COMPILED_CODE)
			return false;
	return first < placed->depth;
}

/*
 * Of a stack that has just been captured, find the frames that some places on it are in, which
 * ascend: each gets the index of the address behind that frame, or the depth of the stack if it
 * lies beyond, or is not known.
 */
void
plh_unwind_find_places(const PlhStack *stack, const uintptr_t *places, int count, int *indexes)
{
	PlhStackWalk placed;
	int			first = 0;
	int			index = 0;

	if (!walk_over_places(&placed))
		placed.depth = step_all(placed.addresses, placed.places, lengthof(placed.addresses));
	while (first < placed.depth && is_skipped(placed.addresses[first] - 1))
		first++;
	if (!is_stack(&placed, first, stack))
		index = stack->depth;
	for (int i = 0; i < count; i++)
	{
		while (index < stack->depth &&
			   (first + index >= placed.depth || placed.places[first + index] <= places[i]))
			index++;
		indexes[i] = index;
	}
}
