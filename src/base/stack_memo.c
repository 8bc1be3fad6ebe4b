/*
 * stack_memo.c
 *	  Remembers whole stacks, so that unwinding need not start over.
 *
 * This code runs inside palloc.
 *
 * A memo is found by the one that was used before it, as programs repeat
 * themselves, or by a hash of its start and its innermost return addresses, which a
 * few steps of a walk find.  Either way all of its words are compared before it is
 * used.
 *
 * Only what lies wholly in the stack of the process is looked at, which is mapped
 * from the stack pointer up to its end.
 */
#include "postgres.h"

#include <sys/resource.h>

#include "base/modules.h"
#include "base/private_memory.h"
#include "base/stack_memo.h"
#include "base/unwind_rules.h"

/* Memos are in sets of so many that share a hash. */
#define WAYS 2
#define SETS 512

/* So many return addresses are part of the hash. */
#define INNERMOST 3

#define TABLE_BYTES (SETS * WAYS * sizeof(uint32))
#define REGION_BYTES (1024 * 1024)

/* Where there is no limit, the stack is taken to have at most so many bytes. */
#define MAX_STACK_BYTES ((rlim_t) 1024 * 1024 * 1024)

extern void *__libc_stack_end;

/*
 * The region begins with the offsets of the memos of all sets, 0 for none.  Behind
 * them lie the memos, one after the other; when there is no more room all of them
 * are forgotten, and made anew as they are needed.
 */
static PlhRegion memo_region;
static uint32 used_bytes;		/* of the region */
static uintptr_t stack_low;		/* the process' stack does not get below this */
static uintptr_t stack_end;
static unsigned long long unloaded; /* modules, when memos were last used */
static uint32 last_used;		/* offset of a memo; 0: none */

static inline uint32 *
set_table(void)
{
	return (uint32 *) memo_region.base;
}

static inline PlhStackMemo *
memo_at(uint32 offset)
{
	return (PlhStackMemo *) (memo_region.base + offset);
}

/*
 * Find out where the stack of the process is.
 */
void
plh_stack_memo_start(void)
{
	struct rlimit limit;

	stack_end = (uintptr_t) __libc_stack_end;
	if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur > MAX_STACK_BYTES)
		limit.rlim_cur = MAX_STACK_BYTES;
	stack_low = stack_end - limit.rlim_cur;
}

/* Is that in the stack of the process, so that it can be read from there on? */
static inline bool
is_on_stack(uintptr_t stack_pointer)
{
	return stack_pointer >= stack_low && stack_pointer < stack_end;
}

/* AddressSanitizer does not let anybody read other functions' frames. */
#define NO_SANITIZER __attribute__((no_sanitize("address")))

static inline NO_SANITIZER uintptr_t
word_at(uintptr_t address)
{
	return *(const volatile uintptr_t *) address;
}

/* Is the memo at that offset of the stack which starts there now? */
static inline bool
is_same(uint32 offset, const PlhStackStart *start)
{
	const PlhStackMemo *memo = memo_at(offset);
	const uintptr_t *words;
	const uint32 *offsets;

	if (offset == 0 ||
		memo->start.stack_pointer != start->stack_pointer ||
		memo->start.address != start->address ||
		(memo->uses_frame_pointer &&
		 memo->start.frame_pointer != start->frame_pointer))
		return false;
	words = memo->data + memo->address_count;
	offsets = (const uint32 *) (words + memo->word_count);
	for (int i = 0; i < memo->word_count; i++)
	{
		if (word_at(start->stack_pointer + offsets[i]) != words[i])
			return false;
	}
	return true;
}

/* No word is so far from the first stack pointer. */
#define NOT_SAVED PG_UINT32_MAX

/* A frame, during a walk. */
typedef struct Frame
{
	PlhStackStart at;
	uint32		saved_offset;	/* where its frame pointer was saved, as of
								 * words, or NOT_SAVED: it is the first one */
	bool		is_noted;		/* among the walk's words */
} Frame;

static void
note_word(PlhStackWalk *walk, uint32 offset, uintptr_t word)
{
	walk->offsets[walk->word_count] = offset;
	walk->words[walk->word_count++] = word;
}

/* The CFA of a frame goes by its frame pointer: note where that is from. */
static void
note_frame_pointer(PlhStackWalk *walk, Frame *frame)
{
	if (frame->is_noted)
		return;
	frame->is_noted = true;
	if (frame->saved_offset == NOT_SAVED)
		walk->uses_frame_pointer = true;
	else
		note_word(walk, frame->saved_offset, frame->at.frame_pointer);
}

/*
 * Step to the caller of a frame.  Returns false if it does not lie where a caller
 * must.
 */
static bool
step(PlhStackWalk *walk, Frame *frame, const PlhUnwindRule *rule,
	 uintptr_t first_pointer)
{
	uintptr_t	base = rule->from_frame_pointer ? frame->at.frame_pointer :
		frame->at.stack_pointer;
	uintptr_t	cfa = base + rule->cfa_offset;
	uintptr_t	saved_at = cfa + rule->saved_offset;
	uintptr_t	return_at;

	if (cfa <= frame->at.stack_pointer || cfa > stack_end ||
		cfa % sizeof(uintptr_t) != 0)
		return false;
	if (rule->from_frame_pointer)
		note_frame_pointer(walk, frame);
	return_at = cfa - sizeof(uintptr_t);
	frame->at.address = word_at(return_at);
	note_word(walk, return_at - first_pointer, frame->at.address);
	if (rule->saved_offset != 0)
	{
		if (saved_at < first_pointer || saved_at >= cfa)
			return false;
		frame->at.frame_pointer = word_at(saved_at);
		frame->saved_offset = saved_at - first_pointer;
		frame->is_noted = false;
	}
	frame->at.stack_pointer = cfa;
	return true;
}

/*
 * Walk over the stack by the rules, to the outermost frame or "max_depth".  Returns
 * false if a frame is none that rules are for.
 */
bool
plh_stack_memo_walk(PlhStackWalk *walk, const PlhStackStart *start,
					int max_depth)
{
	Frame		frame = {.at = *start,.saved_offset = NOT_SAVED};

	walk->depth = 0;
	walk->word_count = 0;
	walk->uses_frame_pointer = false;
	walk->is_trusted = true;
	walk->is_cut = false;
	if (!is_on_stack(start->stack_pointer))
		return false;
	for (;;)
	{
		const PlhUnwindRule *rule = plh_unwind_rules_find(frame.at.address);

		if (walk->depth == Min(max_depth, PLH_MEMO_FRAMES))
		{
			walk->is_cut = true;
			return walk->depth == max_depth;
		}
		walk->addresses[walk->depth++] = frame.at.address;
		walk->is_trusted &= rule->is_trusted;
		if (rule->kind == PLH_RULE_OUTERMOST)
			return true;
		if (rule->kind != PLH_RULE_CALLER ||
			!step(walk, &frame, rule, start->stack_pointer))
			return false;
	}
}

/*
 * libunwind has found that a walk is right: trust the rules that it went by.  Or
 * that it is wrong: leave the frames of those that were not trusted to libunwind.
 */
void
plh_stack_memo_judge(const PlhStackWalk *walk, bool is_right)
{
	for (int i = 0; i < walk->depth; i++)
	{
		PlhUnwindRule *rule = plh_unwind_rules_find(walk->addresses[i]);

		if (is_right)
			rule->is_trusted = true;
		else if (!rule->is_trusted)
			rule->kind = PLH_RULE_ODD;
	}
}

/* The set that a walk belongs to: the offsets of its memos. */
static uint32 *
set_of(const PlhStackStart *start, const PlhStackWalk *walk)
{
	uint64		hash = start->stack_pointer;

	for (int i = 0; i < Min(walk->depth, INNERMOST); i++)
		hash = (hash ^ walk->addresses[i]) * UINT64CONST(0x9E3779B97F4A7C15);
	return set_table() + (hash >> 32) % SETS * WAYS;
}

/* Note that a memo was used, after the one that was used before. */
static PlhStackMemo *
use(uint32 offset)
{
	if (last_used != 0)
		memo_at(last_used)->successor = offset;
	last_used = offset;
	return memo_at(offset);
}

/* Forget what was remembered of modules, if one was unloaded since. */
static void
watch_unloads(void)
{
	if (likely(unloaded == plh_modules_unloaded()))
		return;
	plh_unwind_rules_forget();
	plh_stack_memo_forget();
	unloaded = plh_modules_unloaded();
}

/*
 * Returns the memo of the stack that starts there, or NULL.
 */
PlhStackMemo *
plh_stack_memo_find(const PlhStackStart *start)
{
	PlhStackWalk innermost;
	const uint32 *set;
	uint32		predicted;

	watch_unloads();
	if (last_used == 0 || !is_on_stack(start->stack_pointer))
		return NULL;
	predicted = memo_at(last_used)->successor;
	if (is_same(predicted, start))
		return use(predicted);
	if (!plh_stack_memo_walk(&innermost, start, INNERMOST))
		return NULL;
	set = set_of(start, &innermost);
	for (int i = 0; i < WAYS; i++)
	{
		if (is_same(set[i], start))
			return use(set[i]);
	}
	return NULL;
}

/* Forget all stacks, and keep the memory. */
static void
clear(void)
{
	memset(set_table(), 0, TABLE_BYTES);
	used_bytes = TABLE_BYTES;
	last_used = 0;
}

/* Returns the offset of so many bytes for a memo, or 0 if there are none. */
static uint32
take_room(Size bytes, Size room)
{
	uint32		offset;

	if (!plh_private_memory_reserve(&memo_region, REGION_BYTES) ||
		!plh_private_memory_commit(&memo_region, TABLE_BYTES))
		return 0;
	if (used_bytes == 0 || used_bytes + bytes > Min(room, REGION_BYTES))
		clear();
	if (!plh_private_memory_commit(&memo_region, used_bytes + bytes))
		return 0;
	offset = used_bytes;
	used_bytes += bytes;
	return offset;
}

/*
 * Remember a walk, where all that is remembered may take so much room.  Returns its
 * memo, or NULL if there is no memory for it.  The oldest of its set gives way.
 */
PlhStackMemo *
plh_stack_memo_add(const PlhStackStart *start, const PlhStackWalk *walk,
				   Size room)
{
	uint32		offset = take_room(MAXALIGN(offsetof(PlhStackMemo, data) +
											sizeof(uintptr_t) * (walk->depth + walk->word_count) +
											sizeof(uint32) * walk->word_count),
								   room);
	PlhStackMemo *memo;
	uintptr_t  *words;
	uint32	   *set;

	if (offset == 0)
		return NULL;
	memo = memo_at(offset);
	memset(memo, 0, offsetof(PlhStackMemo, data));
	memo->start = *start;
	memo->uses_frame_pointer = walk->uses_frame_pointer;
	memo->is_cut = walk->is_cut;
	memo->address_count = walk->depth;
	memo->word_count = walk->word_count;
	words = memo->data + walk->depth;
	memcpy(memo->data, walk->addresses, sizeof(uintptr_t) * walk->depth);
	memcpy(words, walk->words, sizeof(uintptr_t) * walk->word_count);
	memcpy(words + walk->word_count, walk->offsets,
		   sizeof(uint32) * walk->word_count);

	set = set_of(start, walk);
	memmove(set + 1, set, sizeof(uint32) * (WAYS - 1));
	set[0] = offset;
	return use(offset);
}

/*
 * Forget all stacks, and give the memory back.
 */
void
plh_stack_memo_forget(void)
{
	plh_private_memory_discard(&memo_region);
	used_bytes = 0;
	last_used = 0;
}
