/*
 * profile.c
 *	  The owner's side of a profile: it adds records.
 *
 * Here is what records consist of, and when two are equal.  profile_records.c finds room for them,
 * and profile_recycling.c gives up those that hold nothing any more.
 */
#include "postgres.h"

#include "port/atomics.h"

#include "common/pg_prng.h"

#include "base/clock.h"
#include "base/fork.h"
#include "base/hash_seed.h"
#include "base/page_layout.h"
#include "base/settings.h"
#include "profile/profile.h"
#include "profile/profile_image.h"
#include "profile/profile_records.h"
#include "profile/profile_recycling.h"
#include "profile/statement_shape.h"
#include "profile/statement_text.h"
#include "stack/modules.h"

/* Statements take at most a quarter: long ones must leave room for call sites. */
#define STATEMENTS_SHARE 4

/*
 * The shape of the text that was looked up last, with all that is never kept of it: its statement
 * is pinned.  Empty if core had an id for it, or it lost its text.  The same statement comes again
 * and again with other literals, and to see what may be kept of one takes several times as long as
 * its shape.  In a forked child no statement is pinned at first.
 */
static PLH_SURVIVES_FORK PLH_LARGE PlhStatementShape last_shape;

/* By profile index.  The last makes frames of routines addresses like all others. */
static PLH_SURVIVES_FORK PLH_LARGE uintptr_t module_bias[PLH_ROUTINE_MODULE + 1];

/* Each frame of a stack has an odd random number. */
static PLH_SAME_IN_CHILD PLH_LARGE uint64 hash_factors[PLH_MAX_FRAMES];

/* A forked child still has its parent's profile, which it is to give up. */
static PLH_SURVIVES_FORK bool has_former;

#define RECENT_STRINGS 64

static PLH_LARGE struct
{
	uint32		module_count;
	uint32		first_context;	/* heads the list of their records */

	/* of strings that were looked up last, by their addresses; 0: none */
	uint32		recent_strings[RECENT_STRINGS];
}			state;

static uint32
hash_statement(uint64 query_id, const PlhStatementShape *shape)
{
	if (query_id != 0)
		return plh_profile_records_hash(&query_id, sizeof(query_id));
	return plh_profile_records_hash(shape->text, shape->length);
}

/* The offset of a statement, or 0.  Its shape matters only if it has no query id. */
static uint32
find_statement(uint64 query_id, const PlhStatementShape *shape)
{
	uint32		hash = hash_statement(query_id, shape);
	uint32		offset;

	PLH_FOR_RECORDS(offset, PLH_RECORD_STATEMENT, hash)
	{
		PlhStatementRecord *statement = plh_profile_records_at(offset);

		if (statement->query_id == query_id &&
			(query_id != 0 ||
			 plh_statement_shape_equals(shape, statement->text, statement->text_bytes)))
			break;
	}
	return offset;
}

static uint32
add_statement(uint64 query_id, const PlhStatementShape *shape, const char *text, Size length)
{
	Size		bytes = offsetof(PlhStatementRecord, text) + length + 1;
	PlhStatementRecord *statement = plh_profile_recycling_take(bytes);

	if (statement == NULL)
		return 0;
	statement->query_id = query_id;
	statement->text_bytes = length;
	memcpy(statement->text, text, length);
	return plh_profile_records_add(statement, PLH_RECORD_STATEMENT, bytes,
								   hash_statement(query_id, shape));
}

/* Do statements leave room for a text of that length in their share? */
static bool
has_share(Size length)
{
	Size		bytes = offsetof(PlhStatementRecord, text) + length + 1;

	return plh_profile_records_bytes(PLH_RECORD_STATEMENT) +
		plh_profile_records_size(bytes) <= plh_load_settings.max_profile_size / STATEMENTS_SHARE;
}

/* The offset of a statement, or 0.  Beyond their share of room, new ones lose their text. */
static uint32
look_up(uint64 query_id, const char *text, Size text_bytes)
{
	char		kept[PLH_STATEMENT_MAX + 1];
	Size		length = 0;
	PlhStatementShape shape;
	uint32		offset;

	shape.length = 0;
	if (query_id == 0)
	{
		length = plh_statement_text_keep(kept, text, text_bytes);
		plh_statement_shape_of(&shape, kept, length);
	}
	offset = find_statement(query_id, &shape);
	if (offset == 0 && query_id != 0)
		length = plh_statement_text_keep(kept, text, text_bytes);
	if (offset == 0 && !has_share(length))
		plh_profile_recycling_hurry();
	if (offset == 0 && !has_share(length))
	{
		/* the profile may have this statement without a text: look again */
		length = 0;
		shape.length = 0;
		offset = find_statement(query_id, &shape);
	}
	if (offset == 0)
		offset = add_statement(query_id, &shape, kept, length);
	return offset;
}

/* Is that the shape of the text that was looked up last? */
static bool
is_last(const PlhStatementShape *shape)
{
	return plh_profile_recycling_pins.statement != 0 && shape->length > 0 &&
		shape->length == last_shape.length &&
		memcmp(shape->text, last_shape.text, shape->length) == 0;
}

static void
remember(const PlhStatementShape *shape, uint32 offset)
{
	const PlhStatementRecord *statement = offset == 0 ? NULL : plh_profile_records_at(offset);
	Size		length = statement != NULL && statement->text_bytes > 0 ? shape->length : 0;

	last_shape.length = length;
	memcpy(last_shape.text, shape->text, Min(length, sizeof(last_shape.text)));
}

/*
 * Returns the offset of a statement.  If core has computed a query id, the id identifies the
 * statement; else what may be kept of its text does, without its literals.  The record has the
 * first text seen.
 *
 * The statement is not given up before the next call, so that the caller may keep the offset until
 * then.
 */
uint32
plh_profile_statement(uint64 query_id, const char *text)
{
	Size		text_bytes = strnlen(text, PLH_STATEMENT_MAX);
	PlhStatementShape shape;
	uint32		offset;

	plh_profile_records_assert_growth();
	shape.length = 0;
	if (query_id == 0)
		plh_statement_shape_of(&shape, text, text_bytes);
	if (is_last(&shape))
		return plh_profile_recycling_pins.statement;
	offset = look_up(query_id, text, text_bytes);
	plh_profile_recycling_pins.statement = offset;
	remember(&shape, offset);
	return offset;
}

/* A profile begins: make the factors, unless there are some. */
static void
begin_stacks(void)
{
	pg_prng_state prng;

	module_bias[PLH_ROUTINE_MODULE] = PLH_FRAME(PLH_ROUTINE_MODULE, 0);
	if (hash_factors[0] != 0)
		return;
	pg_prng_seed(&prng, plh_hash_seed_draw());
	for (int i = 0; i < PLH_MAX_FRAMES; i++)
		hash_factors[i] = pg_prng_uint64(&prng) | 1;
}

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

static pg_noinline uint32
add_stack(const PlhStack *captured, uint32 hash)
{
	int			depth = captured->depth;
	Size		bytes = offsetof(PlhStackRecord, frames) + sizeof(PlhFrame) * depth;
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
 * Returns a hash of the addresses: the sum of each times a random factor of its own.  At interval 1
 * this runs at every palloc, over some 20 words, so the terms must not wait for each other.
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
	if (stack->depth != captured->depth || stack->truncated != captured->truncated)
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

static uint32
find_stack(const PlhStack *captured)
{
	int			depth = captured->depth;
	uint32		hash = hash_addresses(captured->addresses, depth);
	uint32		offset;

	plh_profile_records_assert_growth();
	PLH_FOR_RECORDS(offset, PLH_RECORD_STACK, hash)
	{
		if (stack_equals(plh_profile_records_at(offset), captured))
			break;
	}
	if (offset == 0)
		offset = add_stack(captured, hash);
	plh_profile_recycling_pins.stack = offset;
	return offset;
}

/*
 * Returns the offset of a captured stack, which is not given up before the next call.  Of a stack
 * that is remembered, it is as long as no stack is given up.
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
		known->generation = known->offset == 0 ? 0 : plh_profile_recycling_generation;
	}
	plh_profile_recycling_pins.stack = known->offset;
	return known->offset;
}

/* Asserts that an offset, unless it is 0, is that of a record of that kind. */
static inline void
assert_kind(uint32 offset, PlhRecordKind kind)
{
	Assert(offset == 0 || ((PlhRecord *) plh_profile_records_at(offset))->kind == kind);
}

/* Give up what is left of the parent's profile. */
static void
forget_former(void)
{
	has_former = false;
	plh_profile_file_forget();
	plh_profile_records_forget();
	plh_profile_recycling_forget();
	plh_modules_forget_profile();
	memset(&state, 0, sizeof(state));
}

/*
 * Begin the profile of a process that has none.  Returns false if there is no memory for it.  The
 * caller fills in who the process is, and starts the counters.
 */
bool
plh_profile_begin(void)
{
	PlhSiteRecord *catch_all;

	Assert(plh_profile == NULL);
	if (has_former)
		forget_former();
	if (!plh_profile_records_begin() || !plh_profile_file_start(plh_load_settings.max_profile_size))
		return false;

	begin_stacks();
	plh_profile_image_note_layout(plh_profile);
	plh_profile->pg_version = PG_VERSION_NUM;
	plh_profile->used_bytes = MAXALIGN(sizeof(PlhProfileHeader));

	/* the first step of memory has room for this record */
	catch_all = plh_profile_records_take(sizeof(PlhSiteRecord));
	Assert(catch_all != NULL);
	plh_profile->catch_all_site = plh_profile_records_add(catch_all, PLH_RECORD_SITE,
														  sizeof(PlhSiteRecord), 0);
	return true;
}

static uint32
find_string(const char *text, Size length, uint32 hash)
{
	uint32		offset;

	PLH_FOR_RECORDS(offset, PLH_RECORD_STRING, hash)
	{
		PlhStringRecord *string = plh_profile_records_at(offset);

		if (string->text_bytes == length && memcmp(string->text, text, length) == 0)
			break;
	}
	return offset;
}

static uint32
add_string(const char *text, Size length, uint32 hash)
{
	Size		bytes = offsetof(PlhStringRecord, text) + length + 1;
	PlhStringRecord *string = plh_profile_recycling_take(bytes);

	if (string == NULL)
		return 0;
	string->text_bytes = length;
	memcpy(string->text, text, length);
	return plh_profile_records_add(string, PLH_RECORD_STRING, bytes, hash);
}

/* Is that record the string of a text that is cut to "max_bytes"? */
static inline bool
is_string(uint32 offset, const char *text, Size max_bytes)
{
	PlhStringRecord *string = plh_profile_records_at(offset);

	return string->text_bytes <= max_bytes && strcmp(string->text, text) == 0;
}

/*
 * Returns the offset of a string, which is cut to "max_bytes".  Most are constants of the server
 * that come again and again: the last offset for each address is tried first.  Strings are never
 * given up.
 */
uint32
plh_profile_string(const char *text, Size max_bytes)
{
	uint32	   *recent = &state.recent_strings[((uintptr_t) text >> 3) % RECENT_STRINGS];
	Size		length;
	uint32		hash;

	plh_profile_records_assert_growth();
	if (*recent != 0 && is_string(*recent, text, max_bytes))
		return *recent;

	length = strnlen(text, max_bytes);
	hash = plh_profile_records_hash(text, length);
	*recent = find_string(text, length, hash);
	if (*recent == 0)
		*recent = add_string(text, length, hash);
	return *recent;
}

/* Count the reference of a new site to a stack or statement, if it has one. */
static void
count_reference(uint32 offset, int change)
{
	if (offset != 0)
		((PlhRecord *) plh_profile_records_at(offset))->references += change;
}

/* Add a site.  Returns its offset, or that of the catch-all site. */
static pg_noinline uint32
add_site(const PlhSiteKey *key, uint32 hash)
{
	PlhSiteRecord *site;
	uint32		offset;

	/* what it refers to must not be given up while room is made for it */
	count_reference(key->stack, 1);
	count_reference(key->statement, 1);
	site = plh_profile_recycling_take(sizeof(PlhSiteRecord));

	/* one with another statement may just have lost it, and become this one */
	offset = plh_profile_records_find_site(key, hash);
	if (site == NULL || offset != 0)
	{
		if (site != NULL)
			plh_profile_records_return(site);
		count_reference(key->stack, -1);
		count_reference(key->statement, -1);
		return offset != 0 ? offset : plh_profile->catch_all_site;
	}
	site->key = *key;
	plh_profile->site_count++;
	return plh_profile_records_add(site, PLH_RECORD_SITE, sizeof(PlhSiteRecord), hash);
}

/*
 * Returns the offset of a site.  It is never 0: without room, the catch-all site takes the place of
 * new ones.  Unless the caller counts a live sample there, the site may be given up at the next
 * call of any function here.
 */
uint32
plh_profile_site(const PlhSiteKey *key)
{
	uint32		hash = plh_profile_records_hash_site(key);
	uint32		offset;

	plh_profile_records_assert_growth();
	assert_kind(key->stack, PLH_RECORD_STACK);
	assert_kind(key->context_name, PLH_RECORD_STRING);
	assert_kind(key->statement, PLH_RECORD_STATEMENT);
	offset = plh_profile_records_find_site(key, hash);
	return offset != 0 ? offset : add_site(key, hash);
}

/*
 * The same, where the stack of the key is remembered: mostly it is the same site as the last time.
 */
uint32
plh_profile_site_of(PlhKnownStack *known, const PlhSiteKey *key)
{
	if (known->site_generation != plh_profile_recycling_site_generation ||
		!plh_profile_records_is_site(known->site, key))
	{
		known->site = plh_profile_site(key);
		known->site_generation = plh_profile_recycling_site_generation;
	}
	return known->site;
}

/*
 * Returns the record of the memory contexts of that name and lifetime, or NULL if there is no room.
 */
PlhContextRecord *
plh_profile_context(uint32 context_name, uint32 lifetime)
{
	uint32		hash = hash_combine(murmurhash32(context_name ^ (uint32) plh_profile_records_seed),
									lifetime);
	PlhContextRecord *context;
	uint32		offset;

	plh_profile_records_assert_growth();
	assert_kind(context_name, PLH_RECORD_STRING);
	PLH_FOR_RECORDS(offset, PLH_RECORD_CONTEXT, hash)
	{
		context = plh_profile_records_at(offset);
		if (context->context_name == context_name && context->lifetime == lifetime)
			return context;
	}

	context = plh_profile_recycling_take(sizeof(PlhContextRecord));
	if (context == NULL)
		return NULL;
	context->context_name = context_name;
	context->lifetime = lifetime;
	context->next = state.first_context;
	state.first_context = plh_profile_records_add(context, PLH_RECORD_CONTEXT,
												  sizeof(PlhContextRecord), hash);
	return context;
}

/* The record of contexts after "context", or the first if that is NULL; NULL at the end. */
PlhContextRecord *
plh_profile_next_context(const PlhContextRecord *context)
{
	uint32		offset = context == NULL ? state.first_context : context->next;

	return offset == 0 ? NULL : plh_profile_records_at(offset);
}

/* Called before the figures of a census are written, and behind that. */
void
plh_profile_turn_census(void)
{
	pg_write_barrier();
	plh_profile->census_changes++;
	pg_write_barrier();
}

/*
 * Forget the profile in a forked child: it is the parent's.  What is known of its records stays
 * until the child begins a profile of its own.  Most children never do, and each table would be a
 * page that the child writes to for that alone.
 */
PLH_EVERY_PROCESS void
plh_profile_forget(void)
{
	has_former |= plh_profile != NULL;
	plh_profile = NULL;
}
