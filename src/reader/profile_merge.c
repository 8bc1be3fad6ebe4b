/*
 * profile_merge.c
 *	  Merges the profiles of several processes into one image, in which a call site that they
 *	  share is one.
 *
 * Each record of a process is copied once, and becomes the one that was there before if it says the
 * same: so sites are the same if their keys are, and the owners of their processes as far as these
 * are told apart.  A record says all that stands behind its PlhRecord; but statements are the same
 * if their ids are, however they are worded, and without ids if their shapes are.  Modules are the
 * same by their build-ids, and stacks by their frames in these modules.
 *
 * Counters and variances of a site are sums.  Its peak is the sum of what each process held there
 * at its own peak, which were at different times.  Errors are computed from the sums when the
 * merged image is read: bounds are never added.
 *
 * Texts are made fit for this database, as those of processes may have several encodings.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "base/hash_seed.h"
#include "base/settings.h"
#include "profile/site_facts.h"
#include "profile/statement_shape.h"
#include "reader/baseline_file.h"
#include "reader/collections.h"
#include "reader/database_text.h"
#include "reader/profile_builder.h"
#include "reader/profile_merge.h"

/* A record that others may say the same as. */
typedef struct MergedRecord
{
	uint32		offset;			/* key: where it is in the profile */
	uint32		hash;			/* of what it says, for simplehash.h */
	char		status;			/* for simplehash.h */
} MergedRecord;

static uint32 hash_record(const PlhProfileMerge *merge, uint32 offset);
static bool is_same_record(const PlhProfileMerge *merge, uint32 left, uint32 right);

#define SH_PREFIX merged_records
#define SH_ELEMENT_TYPE MergedRecord
#define SH_KEY_TYPE uint32
#define SH_KEY offset
#define SH_HASH_KEY(table, key) hash_record((table)->private_data, key)
#define SH_EQUAL(table, a, b) is_same_record((table)->private_data, a, b)
#define SH_STORE_HASH
#define SH_GET_HASH(table, element) (element)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* Sites and owners that there is room for at first. */
#define FIRST_ROOM 256

/*
 * Sites with other keys or owners are others.  All bytes are compared and hashed: the seed, which
 * is the same in all of a table, makes the hash one that nobody can guess.
 */
typedef struct SiteIdentity
{
	uint64		seed;
	PlhSiteKey	key;
	const PlhSiteOwner *owner;
} SiteIdentity;

/* Where a site is found. */
typedef struct SiteEntry
{
	SiteIdentity identity;		/* key of the table */
	uint32		number;
} SiteEntry;

struct PlhProfileMerge
{
	PlhMergedProfiles result;
	MemoryContext memory;		/* of all that lasts */
	PlhProfileBuilder profile;
	merged_records_hash *records;
	uint64		seed;			/* of hashes and sites' identities */

	/* numbered from 0 on as they are added, in the order of their records */
	PlhMergedSite *sites;
	uint32		site_count;
	int			site_room;
	HTAB	   *site_entries;
	PlhSiteOwner **owners;
	int			owner_count;
	int			owner_room;

	bool		with_queries;
	int			owner_parts;	/* by which processes are told apart */
	TimestampTz since;			/* time of the oldest baseline; 0: none */
	uint32		modules[PLH_IMAGE_MODULES]; /* offsets by index; 0: none */
	uint32		module_count;
};

/* The image that is being added. */
typedef struct Addition
{
	PlhProfileMerge *merge;
	const PlhProfileImage *image;
	uint32		modules[PLH_IMAGE_MODULES]; /* merged indexes by its own */
	HTAB	   *offsets;		/* of merged records, by its own */
	const PlhSiteOwner *owner;
} Addition;

static uint32 merged_record(Addition *addition, const void *record);

static uint32
hash_statement(const PlhStatementRecord *statement, uint64 seed)
{
	PlhStatementShape shape;

	if (statement->query_id != 0)
		return hash_bytes_extended((const unsigned char *) &statement->query_id,
								   sizeof(statement->query_id), seed);
	plh_statement_shape_of(&shape, statement->text, statement->text_bytes);
	return hash_bytes_extended((const unsigned char *) shape.text, shape.length, seed);
}

static bool
is_same_statement(const PlhStatementRecord *left, const PlhStatementRecord *right)
{
	return left->query_id == right->query_id &&
		(left->query_id != 0 ||
		 plh_statement_shape_compare(left->text, left->text_bytes,
									 right->text, right->text_bytes) == 0);
}

/* What a record says is all behind the part that is the owner's business. */
static uint32
hash_record(const PlhProfileMerge *merge, uint32 offset)
{
	const PlhRecord *record = plh_profile_builder_record(&merge->profile, offset);

	if (record->kind == PLH_RECORD_STATEMENT)
		return hash_statement((const PlhStatementRecord *) record, merge->seed);
	return hash_combine(hash_bytes_extended((const unsigned char *) (record + 1),
											record->bytes - sizeof(PlhRecord), merge->seed),
						record->kind);
}

static bool
is_same_record(const PlhProfileMerge *merge, uint32 left, uint32 right)
{
	const PlhRecord *one = plh_profile_builder_record(&merge->profile, left);
	const PlhRecord *other = plh_profile_builder_record(&merge->profile, right);

	if (one->kind != other->kind)
		return false;
	if (one->kind == PLH_RECORD_STATEMENT)
		return is_same_statement((const PlhStatementRecord *) one,
								 (const PlhStatementRecord *) other);
	return one->bytes == other->bytes &&
		memcmp(one + 1, other + 1, one->bytes - sizeof(PlhRecord)) == 0;
}

/* The record that says the same as the last one, which then goes again; else that one. */
static uint32
keep_record(PlhProfileMerge *merge, uint32 added)
{
	bool		found;
	MergedRecord *record = merged_records_insert(merge->records, added, &found);

	if (found)
		merge->profile.used_bytes = added;
	return record->offset;
}

/* Copy a text, which may be NULL, into memory that lasts. */
static const char *
copy_text(const PlhProfileMerge *merge, const char *text)
{
	return text == NULL ? NULL : MemoryContextStrdup(merge->memory, text);
}

static PlhSiteOwner *
copy_owner(const PlhProfileMerge *merge, const PlhSiteOwner *owner)
{
	PlhSiteOwner *copy = MemoryContextAlloc(merge->memory, sizeof(*copy));

	copy->pid = owner->pid;
	copy->backend_type = copy_text(merge, owner->backend_type);
	copy->database = copy_text(merge, owner->database);
	copy->user = copy_text(merge, owner->user);
	copy->application = copy_text(merge, owner->application);
	return copy;
}

/* The owner that is the same as this one, of those that came before it. */
static const PlhSiteOwner *
known_owner(PlhProfileMerge *merge, const PlhSiteOwner *owner)
{
	/* a linear search will do: this runs once per process */
	for (int i = 0; i < merge->owner_count; i++)
		if (plh_site_owner_is_same(merge->owners[i], owner))
			return merge->owners[i];
	merge->owners = plh_array_grow(merge->owners, merge->owner_count,
								   &merge->owner_room, sizeof(PlhSiteOwner *));
	merge->owners[merge->owner_count] = copy_owner(merge, owner);
	return merge->owners[merge->owner_count++];
}

static void
add_merged_site(PlhProfileMerge *merge, const SiteIdentity *identity)
{
	PlhMergedSite *site;
	uint32		offset = plh_profile_builder_add(&merge->profile, PLH_RECORD_SITE,
												 sizeof(PlhSiteRecord));
	PlhSiteRecord *record = plh_profile_builder_record(&merge->profile, offset);

	record->key = identity->key;
	merge->sites = plh_array_grow(merge->sites, merge->site_count, &merge->site_room,
								  sizeof(PlhMergedSite));
	site = &merge->sites[merge->site_count++];
	memset(site, 0, sizeof(*site));
	site->offset = offset;
	site->owner = identity->owner;
}

/* Its record is added if it is new.  The owner is known_owner's.  Valid until the next call. */
static PlhMergedSite *
merged_site(PlhProfileMerge *merge, const PlhSiteKey *key, const PlhSiteOwner *owner)
{
	SiteIdentity identity;
	SiteEntry  *entry;
	bool		found;

	memset(&identity, 0, sizeof(identity));
	identity.seed = merge->seed;
	identity.key = *key;
	identity.owner = owner;
	entry = hash_search(merge->site_entries, &identity, HASH_ENTER, &found);
	if (!found)
	{
		entry->number = merge->site_count;
		add_merged_site(merge, &identity);
	}
	return &merge->sites[entry->number];
}

PlhProfileMerge *
plh_profile_merge_begin(bool with_queries, int owner_parts)
{
	PlhProfileMerge *merge = palloc0(sizeof(PlhProfileMerge));

	merge->memory = CurrentMemoryContext;
	merge->with_queries = with_queries;
	merge->owner_parts = owner_parts;
	plh_profile_builder_begin(&merge->profile);
	merge->seed = plh_hash_seed_draw();
	merge->records = merged_records_create(CurrentMemoryContext, 1024, merge);
	merge->site_room = FIRST_ROOM;
	merge->sites = palloc(sizeof(PlhMergedSite) * merge->site_room);
	merge->site_entries = plh_hash_table("pg_leakhunt merged sites",
										 sizeof(SiteIdentity), sizeof(SiteEntry));
	merge->owner_room = FIRST_ROOM;
	merge->owners = palloc(sizeof(PlhSiteOwner *) * merge->owner_room);
	return merge;
}

/* Returns its index; 0, which stands for no module, if there are more than an image has. */
static uint32
copy_module(PlhProfileMerge *merge, const PlhModuleRecord *module)
{
	uint32		index = merge->module_count + 1;
	Size		bytes = offsetof(PlhModuleRecord, path) + module->path_bytes + 1;
	uint32		offset;
	PlhModuleRecord *copy;

	if (index >= PLH_IMAGE_MODULES)
		return 0;
	offset = plh_profile_builder_add(&merge->profile, PLH_RECORD_MODULE, bytes);
	copy = plh_profile_builder_record(&merge->profile, offset);
	memcpy((PlhRecord *) copy + 1, (const PlhRecord *) module + 1, bytes - sizeof(PlhRecord));
	copy->index = index;
	merge->modules[index] = offset;
	merge->module_count = index;
	return index;
}

/* A binary without a build-id may have changed since the first stack that has it. */
static uint32
merged_module(PlhProfileMerge *merge, const PlhModuleRecord *module)
{
	for (uint32 index = 1; index <= merge->module_count; index++)
	{
		PlhModuleRecord *merged =
			plh_profile_builder_record(&merge->profile, merge->modules[index]);

		if (!plh_profile_image_is_same_module(merged, module))
			continue;
		merged->seen_at = Min(merged->seen_at, module->seen_at);
		return index;
	}
	return copy_module(merge, module);
}

static void
add_modules(Addition *addition)
{
	for (uint32 index = 1; index < PLH_IMAGE_MODULES; index++)
	{
		const PlhModuleRecord *module = plh_profile_image_module(addition->image, index);

		addition->modules[index] = module == NULL ? 0 : merged_module(addition->merge, module);
	}
}

static uint32
copy_string(const Addition *addition, const PlhStringRecord *string)
{
	char	   *text =
		plh_database_text_fit_foreign(string->text, string->text_bytes,
									  addition->image->header->encoding);
	uint32		offset = plh_profile_builder_add_string(&addition->merge->profile, text);

	pfree(text);
	return offset;
}

/* Copy a statement, its text fit for this database; none unless texts are wanted. */
static uint32
copy_statement(const Addition *addition, const PlhStatementRecord *statement)
{
	PlhProfileBuilder *profile = &addition->merge->profile;
	char	   *text = !addition->merge->with_queries ? pstrdup("") :
		plh_database_text_fit_foreign(statement->text, statement->text_bytes,
									  addition->image->header->encoding);
	uint32		offset =
		plh_profile_builder_add(profile, PLH_RECORD_STATEMENT, offsetof(PlhStatementRecord, text) +
								strlen(text) + 1);
	PlhStatementRecord *copy = plh_profile_builder_record(profile, offset);

	copy->query_id = statement->query_id;
	copy->text_bytes = strlen(text);
	strcpy(copy->text, text);
	pfree(text);
	return offset;
}

static PlhFrame
merged_frame(Addition *addition, PlhFrame frame)
{
	uint32		module = PLH_FRAME_MODULE(frame);
	const PlhStringRecord *name;

	if (PLH_FRAME_IS_ROUTINE(frame))
	{
		name = plh_profile_image_string(addition->image, PLH_ROUTINE_STRING(frame));
		return PLH_ROUTINE_FRAME(PLH_ROUTINE_LANGUAGE(frame), PLH_ROUTINE_LINE(frame),
								 merged_record(addition, name));
	}
	return PLH_FRAME(module < PLH_IMAGE_MODULES ? addition->modules[module] : 0,
					 PLH_FRAME_ADDRESS(frame));
}

static uint32
copy_stack(Addition *addition, const PlhStackRecord *stack)
{
	PlhProfileBuilder *profile = &addition->merge->profile;
	PlhFrame	frames[PLH_MAX_FRAMES];
	uint32		offset;
	PlhStackRecord *copy;

	/* frames come first, as they may add names of routines */
	for (uint32 i = 0; i < stack->depth; i++)
		frames[i] = merged_frame(addition, stack->frames[i]);
	offset = plh_profile_builder_add(profile, PLH_RECORD_STACK, offsetof(PlhStackRecord, frames) +
									 sizeof(PlhFrame) * stack->depth);
	copy = plh_profile_builder_record(profile, offset);
	copy->depth = stack->depth;
	copy->truncated = stack->truncated;
	copy->routines = stack->routines;
	memcpy(copy->frames, frames, sizeof(PlhFrame) * stack->depth);
	return offset;
}

static uint32
copy_record(Addition *addition, const PlhRecord *record)
{
	switch ((PlhRecordKind) record->kind)
	{
		case PLH_RECORD_STRING:
			return copy_string(addition, (const PlhStringRecord *) record);
		case PLH_RECORD_STATEMENT:
			return copy_statement(addition, (const PlhStatementRecord *) record);
		default:
			return copy_stack(addition, (const PlhStackRecord *) record);
	}
}

/* The merged record of one that a site of the image refers to, which may be NULL: then 0. */
static uint32
merged_record(Addition *addition, const void *record)
{
	uint32	   *merged;

	if (record == NULL)
		return 0;
	merged = plh_number_of(addition->offsets, plh_profile_image_offset(addition->image, record));
	if (*merged == 0)
		*merged = keep_record(addition->merge, copy_record(addition, record));
	return *merged;
}

static PlhSiteKey
merged_key(Addition *addition, const PlhSiteFacts *facts)
{
	PlhSiteKey	key = {0};

	if (facts->context != NULL)
	{
		key.context_name = merged_record(addition, facts->context);
		key.lifetime = facts->site->key.lifetime;
	}
	if (facts->stack != NULL)
		key.stack = merged_record(addition, facts->stack);
	else if (facts->site->key.stack == PLH_FORMER_STACKS)
		key.stack = PLH_FORMER_STACKS;
	/* is it told from others by its statement? */
	if (facts->statement != NULL &&
		(addition->merge->with_queries || facts->statement->query_id != 0))
		key.statement = merged_record(addition, facts->statement);
	return key;
}

static void
add_site(Addition *addition, const PlhSiteFacts *facts)
{
	PlhProfileMerge *merge = addition->merge;
	PlhSiteKey	key = merged_key(addition, facts);
	PlhMergedSite *sums = merged_site(merge, &key, addition->owner);
	PlhSiteRecord *site = plh_profile_builder_record(&merge->profile, sums->offset);

	plh_site_facts_sum(&site->counters, facts->counters);
	site->peak_bytes += facts->peak_bytes;

	/* a site that has changed since the peak shows its own peak_bytes */
	site->last_change = 1;
	sums->baseline_bytes += facts->baseline_bytes;
	sums->baseline_count += facts->baseline_count;
}

static void
add_header(PlhProfileMerge *merge, const PlhProfileImage *image)
{
	PlhMergedProfiles *result = &merge->result;
	PlhProfileHeader *sums = plh_profile_builder_header(&merge->profile);
	const PlhProfileHeader *header = image->header;
	uint32		interval = header->sample_interval;

	if (result->process_count == 0)
	{
		sums->pg_version = header->pg_version;
		sums->started_at = header->started_at;
		sums->scope = header->scope;
	}
	sums->started_at = Min(sums->started_at, header->started_at);
	plh_site_facts_sum(&sums->counters, &header->counters);
	result->scopes_differ = result->scopes_differ || sums->scope != header->scope;
	result->process_count++;
	result->crashed_count += !image->alive;
	if (interval == 0 || !image->alive)
		return;
	if (result->least_interval == 0 || result->least_interval > interval)
		result->least_interval = interval;
	result->most_interval = Max(result->most_interval, interval);
}

/* Add the sites of an image that ever had a sample, and what they held at the baseline. */
void
plh_profile_merge_add(PlhProfileMerge *merge, const PlhProfileImage *image,
					  const PlhBaseline *baseline)
{
	Addition   *addition = palloc(sizeof(Addition));
	PlhSiteOwner owner;
	PlhSiteFacts facts;
	uint32		position = 0;

	addition->merge = merge;
	if (baseline != NULL && (merge->since == 0 || merge->since > baseline->taken_at))
		merge->since = baseline->taken_at;
	addition->image = image;
	addition->modules[0] = 0;
	addition->offsets = plh_hash_table("pg_leakhunt record numbers",
									   sizeof(uint32), sizeof(PlhNumberEntry));
	plh_site_owner_fill(&owner, image, merge->owner_parts);
	addition->owner = known_owner(merge, &owner);
	add_modules(addition);
	add_header(merge, image);
	while (plh_site_facts_next(&facts, image, baseline, &position))
	{
		CHECK_FOR_INTERRUPTS();
		add_site(addition, &facts);
	}
	pfree(addition);
}

static PlhBaseline *
make_baseline(const PlhProfileMerge *merge, const PlhMergedSite *sites, uint32 count)
{
	PlhBaseline *baseline = plh_baseline_file_create(0);

	baseline->taken_at = merge->since;
	for (uint32 i = 0; i < count; i++)
		plh_baseline_file_add(&baseline, sites[i].offset, sites[i].baseline_bytes,
							  sites[i].baseline_count);
	return baseline;
}

const PlhMergedProfiles *
plh_profile_merge_end(PlhProfileMerge *merge)
{
	PlhMergedProfiles *result = &merge->result;
	PlhProfileHeader *header = plh_profile_builder_header(&merge->profile);
	MemoryContext caller_context = MemoryContextSwitchTo(merge->memory);

	if (result->process_count == 0)
	{
		header->pg_version = PG_VERSION_NUM;
		header->scope = PLH_SCOPE_ALL;
	}
	result->sites = merge->sites;
	header->site_count = merge->site_count;
	header->encoding = GetDatabaseEncoding();
	header->used_bytes = merge->profile.used_bytes;
	header->sample_interval =
		result->least_interval == result->most_interval ? result->least_interval : 0;
	result->image = palloc0(sizeof(PlhProfileImage));
	result->image->alive = true;
	plh_profile_image_adopt(result->image, header, header->used_bytes);
	result->baseline = make_baseline(merge, result->sites, header->site_count);
	MemoryContextSwitchTo(caller_context);
	return result;
}
