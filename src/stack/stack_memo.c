/*
 * stack_memo.c
 *	  Remembers whole stacks, so that unwinding need not start over.
 *
 * This code runs inside palloc.
 *
 * A memo is found by the one that was used before it, as programs repeat themselves, or by a hash
 * of its start and its innermost return addresses, which a few steps of a walk find.  Either way
 * all of its words are compared before it is used.
 */
#include "postgres.h"

#include "utils/memdebug.h"

#include "base/fork.h"
#include "base/limits.h"
#include "base/page_layout.h"
#include "base/private_memory.h"
#include "stack/stack_memo.h"

/* Memos that share a hash are in one set, of WAYS memos. */
#define WAYS 2
#define SETS 512

/* So many return addresses are part of the hash. */
#define INNERMOST 3

#define TABLE_BYTES (SETS * WAYS * sizeof(uint32))
#define REGION_BYTES (1024 * 1024)

/*
 * The region begins with the offsets of the memos of all sets, 0 for none.  Behind them lie the
 * memos, one after the other; when there is no more room all of them are forgotten, and made anew
 * as they are needed.  plh_stack_memo_forget gives it back.
 */
static PLH_SURVIVES_FORK PlhRegion memo_region;

/* Goes on in a child, and when stacks are forgotten: no number comes twice. */
static PLH_SURVIVES_FORK uint32 stacks_numbered;
static struct
{
	uint32		used_bytes;		/* of the region */
	uint32		last_used;		/* offset of a memo; 0: none */
}			state;

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

/* What a memo went by, behind its addresses: pairs of words, then single ones. */
static inline PlhWordPair *
pairs_of(PlhStackMemo *memo)
{
	return (PlhWordPair *) (memo->data + memo->address_count);
}

static inline uintptr_t *
singles_of(PlhStackMemo *memo)
{
	return (uintptr_t *) (pairs_of(memo) + memo->pair_count);
}

static inline PlhKnownCode *
code_of(PlhStackMemo *memo)
{
	return (PlhKnownCode *) (singles_of(memo) + memo->single_count);
}

/* Where the pairs, and then the single words, are from the first stack pointer. */
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
		if (hash_code(code[i].address) != code[i].hash)
			return false;
	return true;
}

static inline PLH_NO_SANITIZER PlhWordPair
pair_at(uintptr_t address)
{
	return *(const PlhWordPair *) address;
}

/*
 * Are the words what they were?  All of them lie between the stack pointer and the stack's end, so
 * that all can be read, and none waits for the one before.
 */
static inline PLH_NO_SANITIZER bool
has_same_words(PlhStackMemo *memo, uintptr_t stack_pointer)
{
	const PlhWordPair *pairs = pairs_of(memo);
	const uintptr_t *singles = singles_of(memo);
	const uint32 *offsets = offsets_of(memo);
	int			pair_count = memo->pair_count;
	int			single_count = memo->single_count;
	PlhWordPair in_pairs = {0, 0};
	uintptr_t	differences = 0;

#pragma GCC unroll 4
	for (int i = 0; i < pair_count; i++)
		in_pairs |= pair_at(stack_pointer + offsets[i]) ^ pairs[i];
	for (int i = 0; i < single_count; i++)
		differences |= plh_stack_walk_word(stack_pointer + offsets[pair_count + i]) ^ singles[i];
	differences |= in_pairs[0] | in_pairs[1];

	/* on another stack they may be words that nobody has written */
	VALGRIND_MAKE_MEM_DEFINED(&differences, sizeof(differences));
	return differences == 0;
}

static inline bool
is_memo_of(uint32 offset, const PlhStackStart *start)
{
	PlhStackMemo *memo = memo_at(offset);

	if (offset == 0 ||
		memo->start.stack_pointer != start->stack_pointer ||
		memo->start.address != start->address ||
		(memo->uses_frame_pointer && memo->start.frame_pointer != start->frame_pointer))
		return false;
	return has_same_words(memo, start->stack_pointer) &&
		(likely(memo->code_count == 0) || has_same_code(memo));
}

/* The offsets of the memos of a walk's set.  An innermost walk ends where compiled code goes on. */
static uint32 *
set_of(const PlhStackStart *start, const PlhStackWalk *walk)
{
	int			innermost = walk->compiled_count > 0 ? walk->compiled[0].index + 1 : walk->depth;
	uint64		hash = start->stack_pointer;

	for (int i = 0; i < Min(innermost, INNERMOST); i++)
		hash = (hash ^ walk->addresses[i]) * UINT64CONST(0x9E3779B97F4A7C15);
	return set_table() + (hash >> 32) % SETS * WAYS;
}

static PlhStackMemo *
use(uint32 offset)
{
	if (state.last_used != 0)
		memo_at(state.last_used)->successor = offset;
	state.last_used = offset;
	return memo_at(offset);
}

/* Find the memo of a stack by its innermost frames.  Returns its offset, or 0. */
static pg_noinline uint32
look_up(const PlhStackStart *start)
{
	PlhStackWalk innermost;
	const uint32 *set;

	if (!plh_stack_walk_innermost(&innermost, start, INNERMOST))
		return 0;
	set = set_of(start, &innermost);
	for (int i = 0; i < WAYS; i++)
		if (is_memo_of(set[i], start))
			return set[i];
	return 0;
}

PlhStackMemo *
plh_stack_memo_find(const PlhStackStart *start)
{
	uint32		offset;

	if (state.last_used == 0 || !plh_stack_walk_may_start(start))
		return NULL;
	offset = memo_at(state.last_used)->successor;
	if (unlikely(!is_memo_of(offset, start)))
	{
		offset = look_up(start);
		if (offset == 0)
			return NULL;
	}
	return use(offset);
}

/* Returns the offset of "bytes" bytes for a memo, or 0 if the room is used up. */
static uint32
take_room(Size bytes, Size room)
{
	uint32		offset;

	if (!plh_private_memory_reserve(&memo_region, REGION_BYTES) ||
		!plh_private_memory_commit(&memo_region, TABLE_BYTES))
		return 0;
	if (state.used_bytes == 0 || state.used_bytes + bytes > Min(room, REGION_BYTES))
	{
		memset(set_table(), 0, TABLE_BYTES);
		state.used_bytes = TABLE_BYTES;
		state.last_used = 0;
	}
	if (!plh_private_memory_commit(&memo_region, state.used_bytes + bytes))
		return 0;
	offset = state.used_bytes;
	state.used_bytes += bytes;
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

bool
plh_stack_memo_is_of(const PlhStackMemo *memo, const PlhStackWalk *walk)
{
	uintptr_t	addresses[PLH_WALK_FRAMES];

	copy_addresses(addresses, walk);
	return memo->address_count == walk->depth && memo->is_cut == walk->is_cut &&
		memcmp(addresses, memo->data, sizeof(uintptr_t) * walk->depth) == 0;
}

/* A return address lies right behind the frame pointer that its function has saved. */
static inline bool
is_paired(const PlhStackWalk *walk, int word)
{
	return word + 1 < walk->word_count &&
		walk->offsets[word + 1] + sizeof(uintptr_t) == walk->offsets[word];
}

static int
count_pairs(const PlhStackWalk *walk)
{
	int			pairs = 0;

	for (int i = 0; i < walk->word_count; i++)
	{
		if (is_paired(walk, i))
		{
			pairs++;
			i++;
		}
	}
	return pairs;
}

static void
copy_words(PlhStackMemo *memo, const PlhStackWalk *walk)
{
	PlhWordPair *pair = pairs_of(memo);
	uintptr_t  *single = singles_of(memo);
	uint32	   *pair_offset = offsets_of(memo);
	uint32	   *single_offset = pair_offset + memo->pair_count;

	for (int i = 0; i < walk->word_count; i++)
	{
		if (is_paired(walk, i))
		{
			(*pair)[0] = walk->words[i + 1];
			(*pair++)[1] = walk->words[i];
			*pair_offset++ = walk->offsets[i + 1];
			i++;
		}
		else
		{
			*single++ = walk->words[i];
			*single_offset++ = walk->offsets[i];
		}
	}
}

static void
copy_code(PlhKnownCode *code, const PlhStackWalk *walk)
{
	for (int i = 0; i < walk->compiled_count; i++)
	{
		code[i].address = walk->addresses[walk->compiled[i].index];
		code[i].hash = hash_code(code[i].address);
	}
}

/* The oldest of its set gives way; all may take "room" bytes.  NULL if there is no memory. */
PlhStackMemo *
plh_stack_memo_add(const PlhStackStart *start, const PlhStackWalk *walk, Size room)
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
	memo->known.number = ++stacks_numbered;
	memo->start = *start;
	memo->uses_frame_pointer = walk->uses_frame_pointer;
	memo->is_cut = walk->is_cut;
	memo->address_count = walk->depth;
	memo->pair_count = count_pairs(walk);
	memo->single_count = walk->word_count - 2 * memo->pair_count;
	memo->code_count = walk->compiled_count;
	copy_addresses(memo->data, walk);
	copy_words(memo, walk);
	copy_code(code_of(memo), walk);

	set = set_of(start, walk);
	memmove(set + 1, set, sizeof(uint32) * (WAYS - 1));
	set[0] = offset;
	return use(offset);
}

PLH_EVERY_PROCESS void
plh_stack_memo_forget(void)
{
	if (memo_region.base == NULL)
		return;					/* nothing was ever remembered */
	plh_private_memory_discard(&memo_region);
	memset(&state, 0, sizeof(state));
}
