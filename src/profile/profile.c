/*
 * profile.c
 *	  The owner's side of a profile: it adds records.
 *
 * This code runs inside palloc.
 *
 * Here is what the records of strings, sites and contexts consist of, and when two are
 * equal; profile_stack.c and profile_statement.c have the others.  profile_records.c
 * finds room for them, and profile_recycling.c gives up those that hold nothing any
 * more.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "base/fork.h"
#include "base/page_layout.h"
#include "base/settings.h"
#include "profile/profile.h"
#include "profile/profile_image.h"
#include "profile/profile_records.h"
#include "profile/profile_recycling.h"

/*
 * There is a profile that was the parent's, and is not given up yet: what a forked
 * child notes at the fork.
 */
static PLH_SURVIVES_FORK bool has_former;

#define RECENT_STRINGS 64

static PLH_LARGE struct
{
	uint32		first_context;	/* heads the list of their records */

	/*
	 * Offsets of strings that were looked up last, by their addresses; 0:
	 * none.
	 */
	uint32		recent_strings[RECENT_STRINGS];
}			state;

/* Asserts that an offset, unless it is 0, is that of a record of that kind. */
static inline void
assert_kind(uint32 offset, PlhRecordKind kind)
{
	Assert(offset == 0 ||
		   ((PlhRecord *) plh_profile_records_at(offset))->kind == kind);
}

/* Give up what is left of the parent's profile. */
static void
forget_former(void)
{
	has_former = false;
	plh_profile_file_forget();
	plh_profile_records_forget();
	plh_profile_recycling_forget();
	plh_profile_stack_forget();
	memset(&state, 0, sizeof(state));
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
	if (has_former)
		forget_former();
	if (!plh_profile_records_begin() ||
		!plh_profile_file_start(plh_load_settings.max_profile_size))
		return false;

	plh_profile_stack_begin();
	plh_profile_image_note_sizes(plh_profile);
	plh_profile->pg_version = PG_VERSION_NUM;
	plh_profile->used_bytes = MAXALIGN(sizeof(PlhProfileHeader));

	/* the first step of memory has room for this record */
	catch_all = plh_profile_records_take(sizeof(PlhSiteRecord));
	Assert(catch_all != NULL);
	plh_profile->catch_all_site = plh_profile_records_add(catch_all, PLH_RECORD_SITE,
														  sizeof(PlhSiteRecord), 0);
	return true;
}

/* Returns the offset of a string of that length, or 0 if there is none yet. */
static uint32
find_string(const char *text, Size length, uint32 hash)
{
	uint32		offset = *plh_profile_records_bucket(hash);

	while ((offset = plh_profile_records_next(offset, PLH_RECORD_STRING,
											  hash)) != 0)
	{
		PlhStringRecord *string = plh_profile_records_at(offset);

		if (string->text_bytes == length &&
			memcmp(string->text, text, length) == 0)
			break;
		offset = PLH_CHAIN_OF(offset);
	}
	return offset;
}

/* Add a string of that length.  Returns its offset, or 0 if there is no room. */
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
 * Returns the offset of a string, which is cut to "max_bytes".  Most are constants of
 * the server that come again and again: the last offset for each address is tried
 * first.  Strings are never given up.
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
	return plh_profile_records_add(site, PLH_RECORD_SITE,
								   sizeof(PlhSiteRecord), hash);
}

/*
 * Returns the offset of a site.  It is never 0: without room, the catch-all
 * site takes the place of new ones.  Unless the caller counts a live sample
 * there, the site may be given up at the next call of any function here.
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
 * The same, where the stack of the key is remembered: mostly it is the same site as the
 * last time.
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
 * Returns the record of the memory contexts of that name and lifetime, or NULL
 * if there is no room.
 */
PlhContextRecord *
plh_profile_context(uint32 context_name, uint32 lifetime)
{
	uint32		hash = hash_combine(murmurhash32(context_name ^
												 (uint32) plh_profile_records_seed),
									lifetime);
	PlhContextRecord *context;

	plh_profile_records_assert_growth();
	assert_kind(context_name, PLH_RECORD_STRING);
	for (uint32 offset = plh_profile_records_next(*plh_profile_records_bucket(hash), PLH_RECORD_CONTEXT,
												  hash);
		 offset != 0;
		 offset = plh_profile_records_next(PLH_CHAIN_OF(offset), PLH_RECORD_CONTEXT, hash))
	{
		context = plh_profile_records_at(offset);
		if (context->context_name == context_name &&
			context->lifetime == lifetime)
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

/*
 * Returns the record of memory contexts after "context", or the first one if
 * "context" is NULL; NULL at the end.
 */
PlhContextRecord *
plh_profile_next_context(const PlhContextRecord *context)
{
	uint32		offset = context == NULL ? state.first_context : context->next;

	return offset == 0 ? NULL : plh_profile_records_at(offset);
}

/*
 * Forget the profile in a forked child: it is the parent's.  What is known of its
 * records stays until the child begins a profile of its own.  Most children never do,
 * and each table would be a page that the child writes to for that alone.
 */
PLH_EVERY_PROCESS void
plh_profile_forget(void)
{
	has_former |= plh_profile != NULL;
	plh_profile = NULL;
}
