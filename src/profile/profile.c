/*
 * profile.c
 *	  The owner's side of a profile: it adds records.
 *
 * This code runs inside palloc.
 *
 * Equal records are stored once: a private table of hash buckets heads chains
 * that run through the records themselves.  profile_layout.h tells readers
 * which facts they may rely on.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "port/atomics.h"

#include "base/clock.h"
#include "base/guard.h"
#include "base/limits.h"
#include "base/modules.h"
#include "base/private_memory.h"
#include "base/settings.h"
#include "profile/profile.h"
#include "profile/profile_file.h"

/* There is one bucket for this many bytes of the profile's maximum size. */
#define BYTES_PER_BUCKET 1024
#define MAX_PROFILE_MODULES 1024

/*
 * Statements take at most a quarter of the profile, so that a process that
 * never runs the same one twice has room left for call sites.
 */
#define STATEMENTS_SHARE 4

static PlhRegion bucket_region; /* offsets of the first record of each chain */
static uint32 bucket_count;
static Size statement_bytes;	/* taken by statements */
static uint32 module_count;
static uintptr_t module_bias[MAX_PROFILE_MODULES];	/* by profile index */

/* Each frame of a stack has an odd random number. */
static uint64 hash_factors[PLH_MAX_FRAMES];

/* This heads the list of the records of contexts. */
static uint32 first_context;

static void *
record_at(uint32 offset)
{
	Assert(offset % 8 == 0);
	Assert(offset >= MAXALIGN(sizeof(PlhProfileHeader)));
	Assert(offset + sizeof(PlhRecord) <= plh_profile_file_bytes());
	return (char *) plh_profile + offset;
}

/* Asserts that the profile exists and may grow here. */
static inline void
assert_may_grow(void)
{
	Assert(plh_profile != NULL);
	Assert(plh_guard_held);
	Assert(CritSectionCount == 0);
}

/* Asserts that an offset, unless it is 0, is that of a record of that kind. */
static inline void
assert_kind(uint32 offset, PlhRecordKind kind)
{
	Assert(offset == 0 || ((PlhRecord *) record_at(offset))->kind == kind);
}

static uint32 *
bucket_of(uint32 hash)
{
	return (uint32 *) bucket_region.base + hash % bucket_count;
}

/*
 * Make zeroed room for a record of "bytes" bytes at the end of the profile.
 * Returns NULL if there is none.  Readers do not see the record before
 * finish_record.
 */
static void *
new_record(Size bytes)
{
	Size		end = plh_profile->used_bytes + MAXALIGN(bytes);
	PlhRecord  *record;

	if (end > (Size) plh_fixed.max_profile_size || !plh_profile_file_grow(end))
		return NULL;
	plh_profile->profile_bytes = plh_profile_file_bytes();
	record = record_at(plh_profile->used_bytes);
	Assert(record->kind == 0 && record->bytes == 0);
	return record;
}

/* Make a filled-in record part of the profile.  Returns its offset. */
static uint32
finish_record(void *filled, PlhRecordKind kind, Size bytes, uint32 hash)
{
	PlhRecord  *record = filled;
	uint32		offset = plh_profile->used_bytes;
	uint32	   *bucket = bucket_of(hash);

	/* no other record may be added after new_record */
	Assert(record == record_at(offset));
	Assert(offset + MAXALIGN(bytes) <= plh_profile_file_bytes());
	record->kind = kind;
	record->bytes = MAXALIGN(bytes);
	record->chain = *bucket;
	record->hash = hash;

	/* readers trust used_bytes: the record must be complete before */
	pg_write_barrier();
	plh_profile->used_bytes = offset + record->bytes;
	*bucket = offset;
	return offset;
}

/*
 * Returns the next record with that hash and kind, or 0.  "offset" is the head
 * of a chain or the chain field of the record before.
 */
static inline uint32
next_candidate(uint32 offset, PlhRecordKind kind, uint32 hash)
{
	while (offset != 0)
	{
		PlhRecord  *record = record_at(offset);

		if (record->hash == hash && record->kind == kind)
			return offset;

		/* each record is put in front of older ones */
		Assert(record->chain < offset);
		offset = record->chain;
	}
	return 0;
}

#define CHAIN_OF(offset) (((PlhRecord *) record_at(offset))->chain)

static void
make_hash_factors(void)
{
	pg_prng_state prng;

	pg_prng_seed(&prng, PLH_MAX_FRAMES);
	for (int i = 0; i < PLH_MAX_FRAMES; i++)
		hash_factors[i] = pg_prng_uint64(&prng) | 1;
}

/*
 * Begin the profile of a process that has none.  Returns false if there is no
 * memory for it.  The caller fills in who the process is, and starts the
 * counters.
 */
bool
plh_profile_begin(void)
{
	PlhSiteRecord *catch_all;

	Assert(plh_profile == NULL);
	bucket_count = plh_fixed.max_profile_size / BYTES_PER_BUCKET;
	if (!plh_private_memory_reserve(&bucket_region,
									sizeof(uint32) * bucket_count) ||
		!plh_private_memory_commit(&bucket_region,
								   sizeof(uint32) * bucket_count))
		return false;
	if (!plh_profile_file_start(plh_fixed.max_profile_size))
		return false;

	if (hash_factors[0] == 0)
		make_hash_factors();

	memcpy(plh_profile->magic, PLH_PROFILE_MAGIC, sizeof(plh_profile->magic));
	plh_profile->layout_version = PLH_LAYOUT_VERSION;
	plh_profile->pg_version = PG_VERSION_NUM;
	plh_profile->used_bytes = MAXALIGN(sizeof(PlhProfileHeader));

	/* the first step of memory has room for this record */
	catch_all = new_record(sizeof(PlhSiteRecord));
	Assert(catch_all != NULL);
	plh_profile->catch_all_site = finish_record(catch_all, PLH_RECORD_SITE,
												sizeof(PlhSiteRecord), 0);
	return true;
}

/*
 * Returns the offset of a string, which is cut to "max_bytes".
 */
uint32
plh_profile_string(const char *text, Size max_bytes)
{
	Size		length = strnlen(text, max_bytes);
	uint32		hash = hash_bytes((const unsigned char *) text, length);
	Size		bytes = offsetof(PlhStringRecord, text) + length + 1;
	PlhStringRecord *string;

	assert_may_grow();
	for (uint32 offset = next_candidate(*bucket_of(hash), PLH_RECORD_STRING,
										hash);
		 offset != 0;
		 offset = next_candidate(CHAIN_OF(offset), PLH_RECORD_STRING, hash))
	{
		string = record_at(offset);
		if (string->text_bytes == length &&
			memcmp(string->text, text, length) == 0)
			return offset;
	}

	string = new_record(bytes);
	if (string == NULL)
		return 0;
	string->text_bytes = length;
	memcpy(string->text, text, length);
	return finish_record(string, PLH_RECORD_STRING, bytes, hash);
}

/*
 * Returns the offset of a statement.  If core has computed a query id, the id
 * identifies the statement, and the record has the first text seen; else the
 * text identifies it.  Once statements have used up their share, new ones lose
 * their text.
 */
uint32
plh_profile_statement(uint64 query_id, const char *text)
{
	Size		length = strnlen(text, PLH_STATEMENT_MAX);
	PlhStatementRecord *statement;
	uint32		hash;
	Size		bytes;

	assert_may_grow();
	if (query_id != 0)
		hash = hash_bytes((const unsigned char *) &query_id, sizeof(query_id));
	else
		hash = hash_bytes((const unsigned char *) text, length);

	for (;;)
	{
		for (uint32 offset = next_candidate(*bucket_of(hash),
											PLH_RECORD_STATEMENT, hash);
			 offset != 0;
			 offset = next_candidate(CHAIN_OF(offset), PLH_RECORD_STATEMENT,
									 hash))
		{
			statement = record_at(offset);
			if (statement->query_id == query_id &&
				(query_id != 0 ||
				 (statement->text_bytes == length &&
				  memcmp(statement->text, text, length) == 0)))
				return offset;
		}

		bytes = offsetof(PlhStatementRecord, text) + length + 1;
		if (length == 0 ||
			statement_bytes + bytes <= plh_fixed.max_profile_size / STATEMENTS_SHARE)
			break;

		/* the profile may have this statement without a text: look again */
		length = 0;
		if (query_id == 0)
			hash = hash_bytes((const unsigned char *) text, 0);
	}

	statement = new_record(bytes);
	if (statement == NULL)
		return 0;
	statement->query_id = query_id;
	statement->text_bytes = length;
	memcpy(statement->text, text, length);
	statement_bytes += MAXALIGN(bytes);
	return finish_record(statement, PLH_RECORD_STATEMENT, bytes, hash);
}

/* Add a module.  Returns its index, or 0 if there is no room. */
static uint32
add_module(const PlhModule *module)
{
	Size		path_bytes = strnlen(module->path, MAXPGPATH - 1);
	Size		bytes = offsetof(PlhModuleRecord, path) + path_bytes + 1;
	PlhModuleRecord *record;

	if (module_count + 1 >= MAX_PROFILE_MODULES)
		return 0;
	record = new_record(bytes);
	if (record == NULL)
		return 0;

	record->index = ++module_count;
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
	(void) finish_record(record, PLH_RECORD_MODULE, bytes, 0);
	return record->index;
}

/* Turn an address into a frame.  Returns false if its module finds no room. */
static bool
make_frame(uintptr_t address, PlhFrame *frame)
{
	PlhModule  *module = plh_modules_find(address);

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

	stack = new_record(bytes);
	if (stack == NULL)
		return 0;
	stack->depth = depth;
	stack->truncated = captured->truncated;
	memcpy(stack->frames, frames, sizeof(PlhFrame) * depth);
	return finish_record(stack, PLH_RECORD_STACK, bytes, hash);
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

/*
 * Returns the offset of a captured stack.
 */
uint32
plh_profile_stack(const PlhStack *captured)
{
	int			depth = captured->depth;
	uint32		hash = hash_addresses(captured->addresses, depth);

	assert_may_grow();
	for (uint32 offset = next_candidate(*bucket_of(hash), PLH_RECORD_STACK,
										hash);
		 offset != 0;
		 offset = next_candidate(CHAIN_OF(offset), PLH_RECORD_STACK, hash))
	{
		if (stack_equals(record_at(offset), captured))
			return offset;
	}
	return add_stack(captured, hash);
}

/*
 * Returns the offset of a site.  It is never 0: without room, the catch-all
 * site takes the place of new ones.
 */
uint32
plh_profile_site(const PlhSiteKey *key)
{
	uint32		hash = hash_combine(hash_combine(murmurhash32(key->stack),
												 key->context_name),
									hash_combine(key->statement,
												 key->lifetime));
	PlhSiteRecord *site;

	assert_may_grow();
	assert_kind(key->stack, PLH_RECORD_STACK);
	assert_kind(key->context_name, PLH_RECORD_STRING);
	assert_kind(key->statement, PLH_RECORD_STATEMENT);
	for (uint32 offset = next_candidate(*bucket_of(hash), PLH_RECORD_SITE,
										hash);
		 offset != 0;
		 offset = next_candidate(CHAIN_OF(offset), PLH_RECORD_SITE, hash))
	{
		site = record_at(offset);
		if (memcmp(&site->key, key, sizeof(*key)) == 0)
			return offset;
	}

	site = new_record(sizeof(PlhSiteRecord));
	if (site == NULL)
		return plh_profile->catch_all_site;
	site->key = *key;
	plh_profile->site_count++;
	return finish_record(site, PLH_RECORD_SITE, sizeof(PlhSiteRecord), hash);
}

/*
 * Returns the record of the memory contexts of that name and lifetime, or NULL
 * if there is no room.
 */
PlhContextRecord *
plh_profile_context(uint32 context_name, uint32 lifetime)
{
	uint32		hash = hash_combine(murmurhash32(context_name), lifetime);
	PlhContextRecord *context;

	assert_may_grow();
	assert_kind(context_name, PLH_RECORD_STRING);
	for (uint32 offset = next_candidate(*bucket_of(hash), PLH_RECORD_CONTEXT,
										hash);
		 offset != 0;
		 offset = next_candidate(CHAIN_OF(offset), PLH_RECORD_CONTEXT, hash))
	{
		context = record_at(offset);
		if (context->context_name == context_name &&
			context->lifetime == lifetime)
			return context;
	}

	context = new_record(sizeof(PlhContextRecord));
	if (context == NULL)
		return NULL;
	context->context_name = context_name;
	context->lifetime = lifetime;
	context->next = first_context;
	first_context = finish_record(context, PLH_RECORD_CONTEXT,
								  sizeof(PlhContextRecord), hash);
	return context;
}

/*
 * Returns the record of memory contexts after "context", or the first one if
 * "context" is NULL; NULL at the end.
 */
PlhContextRecord *
plh_profile_next_context(const PlhContextRecord *context)
{
	uint32		offset = context == NULL ? first_context : context->next;

	return offset == 0 ? NULL : record_at(offset);
}

/*
 * Forget the profile in a forked child: it is the parent's.
 */
void
plh_profile_forget(void)
{
	plh_profile_file_forget();
	plh_private_memory_discard(&bucket_region);
	plh_modules_forget_profile();
	module_count = 0;
	statement_bytes = 0;
	first_context = 0;
}
