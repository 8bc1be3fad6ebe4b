/*
 * symbol_cache.c
 *	  Keeps the answers that a session has got about addresses, until it ends.
 *
 * Answers are appended to one region; a hash table with open addressing has their offsets.  Single
 * answers are never removed: a full cache is emptied.
 *
 * Only answers about modules that could be read are kept: a debug file that is missing now may be
 * installed later.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "base/limits.h"
#include "base/private_memory.h"
#include "base/settings.h"
#include "symbols/debug_info.h"
#include "symbols/symbol_cache.h"

#define CACHE_BYTES ((Size) 8 * 1024 * 1024)
#define SLOTS 65536				/* a power of two */
#define MAX_ENTRIES (SLOTS / 4 * 3)

/* The subject of an answer: an address, and the build-id and path of a module. */
typedef struct CacheKey
{
	uint64		address;
	uint64		path_hash;		/* with hash_servers as its seed */
	TimestampTz seen_at;		/* of the module; 0 if it has a build-id */
	uint32		build_id_bytes;
	uint8		build_id[PLH_BUILD_ID_MAX];
} CacheKey;

/* An entry ends with the frames of its answer, not with their room. */
typedef struct CacheEntry
{
	CacheKey	key;
	PlhSymbolAnswer answer;
} CacheEntry;

static PlhRegion entry_region;
static PlhRegion slot_region;	/* offsets into entry_region, plus 1 */
static Size used_bytes;
static uint32 used_entries;

/* What answers depend on beside the binary: which servers have been asked. */
static uint64
hash_servers(void)
{
	const char *urls = plh_debuginfod_urls == NULL ? "" : plh_debuginfod_urls;

	return hash_bytes_extended((const unsigned char *) urls, strlen(urls), 0);
}

/* Make the key, with its padding zeroed: keys are compared as bytes. */
static void
make_key(const PlhModuleRecord *module, uint64 address, CacheKey *key)
{
	memset(key, 0, sizeof(*key));
	key->address = address;
	key->path_hash =
		hash_bytes_extended((const unsigned char *) module->path,
							module->path_bytes, hash_servers());
	key->build_id_bytes = Min(module->build_id_bytes, PLH_BUILD_ID_MAX);
	key->seen_at = key->build_id_bytes > 0 ? 0 : module->seen_at;
	memcpy(key->build_id, module->build_id, key->build_id_bytes);
}

/* Find the slot that has the key, or the free slot where it belongs. */
static uint32 *
find_slot(const CacheKey *key)
{
	uint32	   *slots = (uint32 *) slot_region.base;
	uint32		slot = hash_bytes((const unsigned char *) key, sizeof(*key));

	StaticAssertStmt((SLOTS & (SLOTS - 1)) == 0 && MAX_ENTRIES < SLOTS, "a search would not end");
	for (;; slot++)
	{
		uint32	   *candidate = &slots[slot & (SLOTS - 1)];
		const CacheEntry *entry;

		if (*candidate == 0)
			return candidate;
		entry = (const CacheEntry *) (entry_region.base + *candidate - 1);
		if (memcmp(&entry->key, key, sizeof(*key)) == 0)
			return candidate;
	}
}

const PlhSymbolAnswer *
plh_symbol_cache_find(const PlhModuleRecord *module, uint64 address)
{
	CacheKey	key;
	uint32	   *slot;

	if (used_entries == 0)
		return NULL;
	make_key(module, address, &key);
	slot = find_slot(&key);
	if (*slot == 0)
		return NULL;
	return &((const CacheEntry *) (entry_region.base + *slot - 1))->answer;
}

static void
clear_cache(void)
{
	plh_private_memory_discard(&entry_region);
	plh_private_memory_discard(&slot_region);
	used_bytes = 0;
	used_entries = 0;
}

/* Keep an answer, if the module could be read and there is memory. */
void
plh_symbol_cache_add(const PlhModuleRecord *module, uint64 address, const PlhSymbolAnswer *answer)
{
	Size		answer_bytes = offsetof(PlhSymbolAnswer, frames) + answer->frames_bytes;
	Size		bytes = MAXALIGN(offsetof(CacheEntry, answer) + answer_bytes);
	CacheKey	key;
	CacheEntry *entry;

	if (answer->status != PLH_MODULE_OPEN && answer->status != PLH_MODULE_NAMES_ONLY)
		return;
	if (used_entries == MAX_ENTRIES || used_bytes + bytes > CACHE_BYTES)
		clear_cache();
	if (!plh_private_memory_reserve(&entry_region, CACHE_BYTES) ||
		!plh_private_memory_reserve(&slot_region, sizeof(uint32) * SLOTS) ||
		!plh_private_memory_commit(&slot_region, sizeof(uint32) * SLOTS) ||
		!plh_private_memory_commit(&entry_region, used_bytes + bytes))
		return;

	make_key(module, address, &key);
	entry = (CacheEntry *) (entry_region.base + used_bytes);
	entry->key = key;
	memcpy(&entry->answer, answer, answer_bytes);
	Assert(*find_slot(&key) == 0);
	*find_slot(&key) = used_bytes + 1;
	used_bytes += bytes;
	used_entries++;
}
