/*
 * profile_stack.c
 *	  The owner's side of a profile: records of stacks, and of the modules that their
 *	  frames are in.
 *
 * This code runs inside palloc.
 */
#include "postgres.h"

#include "common/pg_prng.h"

#include "base/clock.h"
#include "base/fork.h"
#include "base/hash_seed.h"
#include "base/limits.h"
#include "base/page_layout.h"
#include "profile/profile_records.h"
#include "profile/profile_recycling.h"
#include "profile/profile_stack.h"
#include "stack/modules.h"

/*
 * By profile index; there are module_count.  The last, for routines, makes their frames
 * addresses like all others.
 */
static PLH_SURVIVES_FORK PLH_LARGE uintptr_t module_bias[PLH_ROUTINE_MODULE + 1];

/* Each frame of a stack has an odd random number. */
static PLH_SAME_IN_CHILD PLH_LARGE uint64 hash_factors[PLH_MAX_FRAMES];

static struct
{
	uint32		module_count;
}			state;

static void
make_hash_factors(void)
{
	pg_prng_state prng;

	pg_prng_seed(&prng, plh_hash_seed_draw());
	for (int i = 0; i < PLH_MAX_FRAMES; i++)
		hash_factors[i] = pg_prng_uint64(&prng) | 1;
}

/*
 * A profile begins: make the factors, unless there are some.
 */
void
plh_profile_stack_begin(void)
{
	module_bias[PLH_ROUTINE_MODULE] = PLH_FRAME(PLH_ROUTINE_MODULE, 0);
	if (hash_factors[0] == 0)
		make_hash_factors();
}

/*
 * Forget the modules of a profile that was the parent's.
 */
void
plh_profile_stack_forget(void)
{
	plh_modules_forget_profile();
	memset(&state, 0, sizeof(state));
}

/* Add a module.  Returns its index, or 0 if there is no room. */
static uint32
add_module(const PlhModule *module)
{
	Size		path_bytes = strnlen(module->path, MAXPGPATH - 1);
	Size		bytes = offsetof(PlhModuleRecord, path) + path_bytes + 1;
	PlhModuleRecord *record;

	if (state.module_count + 1 >= PLH_ROUTINE_MODULE)
		return 0;
	record = plh_profile_recycling_take(bytes);
	if (record == NULL)
		return 0;

	record->index = ++state.module_count;
	module_bias[record->index] = module->load_bias;
	record->build_id_bytes = module->build_id_bytes;
	if (module->build_id_bytes > 0)
		memcpy(record->build_id, module->build_id, module->build_id_bytes);
	record->path_bytes = path_bytes;
	record->text_address = module->text_start - module->load_bias;
	record->text_bytes = module->text_end - module->text_start;
	record->text_file_offset = module->text_file_offset;
	record->seen_at = plh_clock_coarse_now();
	memcpy(record->path, module->path, path_bytes);
	(void) plh_profile_records_add(record, PLH_RECORD_MODULE, bytes, 0);
	return record->index;
}

/* Turn an address into a frame.  Returns false if there is no room for its module. */
static bool
make_frame(uintptr_t address, PlhFrame *frame)
{
	PlhModule  *module;

	if (PLH_FRAME_IS_ROUTINE(address))
	{
		*frame = address;
		return true;
	}
	module = plh_modules_find(address);
	if (module == NULL)
	{
		*frame = PLH_FRAME(0, address);
		return true;
	}
	if (module->profile_index == 0)
		module->profile_index = add_module(module);
	*frame = PLH_FRAME(module->profile_index, address - module->load_bias);
	return module->profile_index != 0;
}

/* Add a stack.  Returns its offset, or 0 if there is no room. */
static pg_noinline uint32
add_stack(const PlhStack *captured, uint32 hash)
{
	int			depth = captured->depth;
	Size		bytes = offsetof(PlhStackRecord, frames) +
		sizeof(PlhFrame) * depth;
	PlhFrame	frames[PLH_MAX_FRAMES];
	PlhStackRecord *stack;

	Assert(depth <= PLH_MAX_FRAMES);

	/* frames come first, as they may add records of modules */
	plh_modules_refresh();
	for (int i = 0; i < depth; i++)
	{
		if (!make_frame(captured->addresses[i] - 1, &frames[i]))
			return 0;
	}

	stack = plh_profile_recycling_take(bytes);
	if (stack == NULL)
		return 0;
	stack->depth = depth;
	stack->truncated = captured->truncated;
	stack->routines = captured->routines;
	memcpy(stack->frames, frames, sizeof(PlhFrame) * depth);
	return plh_profile_records_add(stack, PLH_RECORD_STACK, bytes, hash);
}

/*
 * Returns a hash of the addresses: the sum of each times a random factor of
 * its own.  At interval 1 this runs at every palloc, over some 20 words, so
 * the terms must not wait for each other.
 */
static inline uint32
hash_addresses(const uintptr_t *addresses, int depth)
{
	uint64		hash = depth;

#pragma GCC unroll 4
	for (int i = 0; i < depth; i++)
		hash += addresses[i] * hash_factors[i];
	return (uint32) (hash >> 32);
}

static inline bool
stack_equals(const PlhStackRecord *stack, const PlhStack *captured)
{
	if (stack->depth != captured->depth ||
		stack->truncated != captured->truncated)
		return false;
#pragma GCC unroll 4
	for (int i = 0; i < captured->depth; i++)
	{
		PlhFrame	frame = stack->frames[i];

		/* frames are return addresses minus one */
		if (module_bias[PLH_FRAME_MODULE(frame)] + PLH_FRAME_ADDRESS(frame) !=
			captured->addresses[i] - 1)
			return false;
	}
	return true;
}

/* Find the record of a captured stack, or add it. */
static uint32
find_stack(const PlhStack *captured)
{
	int			depth = captured->depth;
	uint32		hash = hash_addresses(captured->addresses, depth);
	uint32		offset = *plh_profile_records_bucket(hash);

	plh_profile_records_assert_growth();
	while ((offset = plh_profile_records_next(offset, PLH_RECORD_STACK,
											  hash)) != 0)
	{
		if (stack_equals(plh_profile_records_at(offset), captured))
			break;
		offset = PLH_CHAIN_OF(offset);
	}
	if (offset == 0)
		offset = add_stack(captured, hash);
	plh_profile_recycling_pins.stack = offset;
	return offset;
}

/*
 * Returns the offset of a captured stack, which is not given up before the
 * next call.  Of a stack that is remembered, it is as long as no stack is given up.
 */
uint32
plh_profile_stack(const PlhStack *captured)
{
	PlhKnownStack *known = captured->known;

	if (known == NULL)
		return find_stack(captured);
	if (known->generation != plh_profile_recycling_generation)
	{
		known->offset = find_stack(captured);
		known->generation = known->offset == 0 ? 0 :
			plh_profile_recycling_generation;
	}
	plh_profile_recycling_pins.stack = known->offset;
	return known->offset;
}
