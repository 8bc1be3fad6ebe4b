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
 */
#include "postgres.h"

#include "base/limits.h"
#include "base/modules.h"
#include "base/private_memory.h"
#include "base/stack_memo.h"

/* Memos are in sets of so many that share a hash. */
#define WAYS 2
#define SETS 512

/* So many return addresses are part of the hash. */
#define INNERMOST 3

#define TABLE_BYTES (SETS * WAYS * sizeof(uint32))
#define REGION_BYTES (1024 * 1024)

/*
 * The region begins with the offsets of the memos of all sets, 0 for none.  Behind
 * them lie the memos, one after the other; when there is no more room all of them
 * are forgotten, and made anew as they are needed.
 */
static PlhRegion memo_region;
static uint32 used_bytes;		/* of the region */
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

/* What a memo went by, behind its addresses. */
static inline uintptr_t *
words_of(PlhStackMemo *memo)
{
	return memo->data + memo->address_count;
}

static inline PlhKnownCode *
code_of(PlhStackMemo *memo)
{
	return (PlhKnownCode *) (words_of(memo) + memo->word_count);
}

/* Where the words are, from the first stack pointer. */
static inline uint32 *
offsets_of(PlhStackMemo *memo)
{
	return (uint32 *) (code_of(memo) + memo->code_count);
}

/*
 * A hash of the code around a call, by the address to be returned to: of the aligned
 * 64 bytes in which the call ends.  They can be read, as the call will return.
 */
static uint64
hash_code(uintptr_t address)
{
	const uint64 *code = (const uint64 *) TYPEALIGN_DOWN(64, address - 1);
	uint64		hash = 0;

	for (int i = 0; i < 64 / sizeof(uint64); i++)
		hash = (hash ^ code[i]) * UINT64CONST(0x9E3779B97F4A7C15);
	return hash;
}

/* Is the compiled code on the stack what it was?  Its addresses still are there. */
static pg_noinline bool
has_same_code(PlhStackMemo *memo)
{
	const PlhKnownCode *code = code_of(memo);

	for (int i = 0; i < memo->code_count; i++)
	{
		if (hash_code(code[i].address) != code[i].hash)
			return false;
	}
	return true;
}

/* Is the memo at that offset of the stack which starts there now? */
static inline bool
is_same(uint32 offset, const PlhStackStart *start)
{
	PlhStackMemo *memo = memo_at(offset);
	const uintptr_t *words;
	const uint32 *offsets;

	if (offset == 0 ||
		memo->start.stack_pointer != start->stack_pointer ||
		memo->start.address != start->address ||
		(memo->uses_frame_pointer &&
		 memo->start.frame_pointer != start->frame_pointer))
		return false;
	words = words_of(memo);
	offsets = offsets_of(memo);
	for (int i = 0; i < memo->word_count; i++)
	{
		if (plh_stack_walk_word(start->stack_pointer + offsets[i]) != words[i])
			return false;
	}
	return likely(memo->code_count == 0) || has_same_code(memo);
}

/*
 * The set that a walk belongs to: the offsets of its memos.  An innermost walk ends
 * where compiled code goes on.
 */
static uint32 *
set_of(const PlhStackStart *start, const PlhStackWalk *walk)
{
	int			innermost = walk->compiled_count > 0 ?
		walk->compiled[0].index + 1 : walk->depth;
	uint64		hash = start->stack_pointer;

	for (int i = 0; i < Min(innermost, INNERMOST); i++)
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
	if (last_used == 0 || !plh_stack_walk_may_start(start))
		return NULL;
	predicted = memo_at(last_used)->successor;
	if (is_same(predicted, start))
		return use(predicted);
	if (!plh_stack_walk_innermost(&innermost, start, INNERMOST))
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

/* Copy a walk's addresses.  Compiled code has one address, wherever it lies. */
static void
copy_addresses(uintptr_t *addresses, const PlhStackWalk *walk)
{
	for (int i = 0; i < walk->depth; i++)
		addresses[i] = walk->addresses[i];
	for (int i = 0; i < walk->compiled_count; i++)
		addresses[walk->compiled[i].index] = PLH_COMPILED_CODE;
}

/*
 * Is that memo of the stack that was walked over?
 */
bool
plh_stack_memo_is_of(const PlhStackMemo *memo, const PlhStackWalk *walk)
{
	uintptr_t	addresses[PLH_WALK_FRAMES];

	copy_addresses(addresses, walk);
	return memo->address_count == walk->depth && memo->is_cut == walk->is_cut &&
		memcmp(addresses, memo->data, sizeof(uintptr_t) * walk->depth) == 0;
}

/* Copy what a walk went by into its memo, which has its counts already. */
static void
fill(PlhStackMemo *memo, const PlhStackWalk *walk)
{
	PlhKnownCode *code = code_of(memo);

	copy_addresses(memo->data, walk);
	memcpy(words_of(memo), walk->words, sizeof(uintptr_t) * walk->word_count);
	for (int i = 0; i < walk->compiled_count; i++)
	{
		code[i].address = walk->addresses[walk->compiled[i].index];
		code[i].hash = hash_code(code[i].address);
	}
	memcpy(offsets_of(memo), walk->offsets, sizeof(uint32) * walk->word_count);
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
											sizeof(PlhKnownCode) * walk->compiled_count +
											sizeof(uint32) * walk->word_count),
								   room);
	PlhStackMemo *memo;
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
	memo->code_count = walk->compiled_count;
	fill(memo, walk);

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
	if (memo_region.base == NULL)
		return;					/* nothing was ever remembered */
	plh_private_memory_discard(&memo_region);
	used_bytes = 0;
	last_used = 0;
}
