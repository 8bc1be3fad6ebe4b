/*
 * account.c
 *	  What a process' own memory is made of, to the byte where it is counted.
 *
 * The figures may be damaged ones.
 */
#include "postgres.h"

#include "base/sampling.h"
#include "judge/account.h"
#include "reader/collections.h"
#include "reader/database_text.h"

/* Figures beyond this are damaged; sums of some that are not can't overflow. */
#define BYTES_MAX (PG_INT64_MAX / 65536)

/* A count is of the peak where samples stood for less by this part of it at most. */
#define PEAK_PART 50

/* What is less than this part of a gain is next to nothing of it. */
#define GAIN_PART 8

/* A part as large as this is worth a word. */
#define WORTH_PART 8

/* A record of contexts, and the number of the family that it was added to. */
typedef struct AddedRecord
{
	const PlhContextRecord *record;
	int			family;
} AddedRecord;

static int64
sound(int64 bytes)
{
	return Max(0, Min(bytes, BYTES_MAX));
}

/* The name of the contexts of a record, or NULL. */
static const PlhStringRecord *
name_of(const PlhContextRecord *record, const PlhProfileImage *image)
{
	return plh_profile_image_string(image, record->context_name);
}

/* The account that a record belongs to, which is entered if it is new. */
static PlhFamilyAccount *
account_of(PlhAccount *account, const PlhContextRecord *record,
		   const PlhProfileImage *image, int *room)
{
	const PlhStringRecord *name = name_of(record, image);
	const PlhFamily *family = name == NULL ? NULL : plh_family_of(name->text);
	bool		lasting = plh_lifetime_is_lasting(record->lifetime);
	PlhFamilyAccount *entered;

	for (int i = 0; i < account->family_count; i++)
	{
		entered = &account->families[i];
		if (entered->family == family && entered->lasting == lasting &&
			(family != NULL ||
			 entered->largest->context_name == record->context_name))
			return entered;
	}
	if (account->family_count == *room)
	{
		*room *= 2;
		account->families = repalloc(account->families, sizeof(PlhFamilyAccount) * *room);
	}
	entered = &account->families[account->family_count++];
	memset(entered, 0, sizeof(*entered));
	entered->family = family;
	entered->lasting = lasting;
	entered->largest = record;
	entered->largest_name = name == NULL ? "" : name->text;
	return entered;
}

/* What contexts had at some time, by two counts before and after it. */
static PlhContextCheckpoint
between(const PlhContextCheckpoint *before, const PlhContextCheckpoint *after, TimestampTz at)
{
	double		passed = (double) after->at - (double) before->at;
	double		part = passed <= 0 ? 1.0 :
		Max(0.0, Min(1.0, ((double) at - (double) before->at) / passed));
	double		bytes = (double) sound(after->bytes) - (double) sound(before->bytes);
	double		instances = (double) sound(after->instances) - (double) sound(before->instances);

	return (PlhContextCheckpoint)
	{
		at, sound(before->instances) + (int64) (part * instances),
			sound(before->bytes) + (int64) (part * bytes)
	};
}

/* What the contexts of a record had at some time. */
static PlhContextCheckpoint
count_at(const PlhContextRecord *record, TimestampTz at, TimestampTz counted_at)
{
	PlhContextCheckpoint before = {.at = record->first_at};
	PlhContextCheckpoint after = {counted_at, record->instances, record->bytes};

	if (record->first_at == 0 || record->first_at > at)
		return (PlhContextCheckpoint)
	{
		at
	};

	/* counted for less than a second, and not known to have grown */
	if (record->checkpoints[PLH_CHECKPOINTS - 1].at == 0)
		return after;
	for (int i = PLH_CHECKPOINTS - 1; i >= 0; i--)
	{
		const PlhContextCheckpoint *checkpoint = &record->checkpoints[i];

		if (checkpoint->at == 0)
			continue;
		if (checkpoint->at <= at)
		{
			before = *checkpoint;
			break;
		}
		after = *checkpoint;
	}
	return between(&before, &after, at);
}

static void
add_earlier(PlhFamilyAccount *entered, const PlhContextRecord *record, TimestampTz counted_at)
{
	PlhContextCheckpoint early = count_at(record, entered->early_at, counted_at);
	PlhContextCheckpoint late = count_at(record, entered->late_at, counted_at);

	entered->early_bytes += early.bytes;
	entered->early_contexts += early.instances;
	entered->late_bytes += late.bytes;
	entered->late_contexts += late.instances;
}

static void
add_record(PlhFamilyAccount *entered, const PlhContextRecord *record, const PlhProfileImage *image)
{
	const PlhStringRecord *name = name_of(record, image);

	entered->bytes += sound(record->bytes);
	entered->contexts += sound(record->instances);
	entered->rises = Max(entered->rises, record->rises);
	if (entered->first_at == 0 || (record->first_at != 0 && record->first_at < entered->first_at))
		entered->first_at = record->first_at;
	if (record->examples != 0 &&
		(entered->exemplified == NULL || record->bytes > entered->exemplified->bytes))
		entered->exemplified = record;
	if (record->bytes <= entered->largest->bytes)
		return;
	entered->largest = record;
	entered->largest_name = name == NULL ? "" : name->text;
}

/* The account of families that are called so; NULL where it has no such contexts. */
static PlhFamilyAccount *
find_kind(PlhAccount *account, PlhFamilyKind kind)
{
	for (int i = 0; i < account->family_count; i++)
		if (account->families[i].lasting && account->families[i].family != NULL &&
			account->families[i].family->kind == kind)
			return &account->families[i];
	return NULL;
}

/*
 * Where compiled functions have much beside plans, most plans are theirs: both grow for one cause.
 */
static void
join_functions_and_plans(PlhAccount *account)
{
	PlhFamilyAccount *functions = find_kind(account, PLH_FAMILY_FUNCTIONS);
	PlhFamilyAccount *plans = find_kind(account, PLH_FAMILY_PLANS);

	if (functions == NULL || plans == NULL || functions->bytes < plans->bytes / 4)
		return;
	if (functions->exemplified == NULL)
		functions->exemplified = plans->exemplified;
	functions->bytes += plans->bytes;
	functions->contexts += plans->contexts;
	functions->early_bytes += plans->early_bytes;
	functions->early_contexts += plans->early_contexts;
	functions->late_bytes += plans->late_bytes;
	functions->late_contexts += plans->late_contexts;
	functions->early_at = Max(functions->early_at, plans->early_at);
	functions->first_at = Min(functions->first_at, plans->first_at);
	functions->rises = Max(functions->rises, plans->rises);
	*plans = account->families[--account->family_count];
}

/* qsort comparator: the largest first. */
static int
compare_families(const void *a, const void *b)
{
	const PlhFamilyAccount *left = a;
	const PlhFamilyAccount *right = b;

	return left->bytes > right->bytes ? -1 : left->bytes < right->bytes;
}

/* Note the times in the middle of what each family has lived, and later. */
static void
set_times(PlhAccount *account, TimestampTz counted_at)
{
	for (int i = 0; i < account->family_count; i++)
	{
		PlhFamilyAccount *entered = &account->families[i];
		double		passed = Max(0.0, (double) counted_at - (double) entered->first_at);

		entered->early_at = entered->first_at + (int64) (passed / 2);
		entered->late_at = entered->first_at + (int64) (passed * 3 / 4);
	}
}

/* Add up all contexts by family, then what there was in the middle of their time. */
static void
add_up(PlhAccount *account, const PlhProfileImage *image)
{
	const PlhContextRecord *record;
	TimestampTz worked_at = plh_profile_image_worked_at(image->header);
	int			room = 32;
	int			added_room = 64;
	int			added_count = 0;
	AddedRecord *added = palloc(sizeof(AddedRecord) * added_room);
	uint32		position = 0;

	account->families = palloc(sizeof(PlhFamilyAccount) * room);
	while ((record = plh_profile_image_next_context(image, &position)) != NULL)
	{
		PlhFamilyAccount *entered;

		if (record->instances <= 0)
			continue;
		entered = account_of(account, record, image, &room);
		add_record(entered, record, image);
		added = plh_array_grow(added, added_count, &added_room, sizeof(AddedRecord));
		added[added_count++] = (AddedRecord)
		{
			record, entered - account->families
		};
	}
	set_times(account, worked_at);
	for (int i = 0; i < added_count; i++)
		add_earlier(&account->families[added[i].family], added[i].record, worked_at);
	pfree(added);
	join_functions_and_plans(account);
	qsort(account->families, account->family_count, sizeof(PlhFamilyAccount), compare_families);
}

/*
 * The account of a process as of its last census, in the current memory context, referring to the
 * image.
 */
PlhAccount *
plh_account_make(const PlhProfileImage *image)
{
	const PlhProfileHeader *header = image->header;
	PlhAccount *account = palloc0(sizeof(PlhAccount));

	if (header->census_at == 0)
		return account;
	account->is_counted = true;
	account->knows_malloc = header->malloc_bytes >= 0;
	account->own_bytes = sound(header->own_bytes);
	account->context_bytes = sound(header->context_bytes);
	account->passing_bytes = Min(sound(header->passing_bytes), account->context_bytes);
	account->lasting_bytes = account->context_bytes - account->passing_bytes;
	if (account->knows_malloc)
	{
		account->outside_bytes = Max(0, sound(header->malloc_bytes) - account->context_bytes);
		account->freed_bytes = sound(header->malloc_free_bytes);
	}
	account->other_bytes = account->own_bytes - account->context_bytes -
		account->outside_bytes - account->freed_bytes;
	add_up(account, image);
	return account;
}

/*
 * What a site can have held at most when samples stood for most, by the counts at which they stood
 * for nearly as much; PG_INT64_MAX where there is none.
 */
int64
plh_account_peak_bound(const PlhProfileHeader *header)
{
	int64		peak = sound(header->peak_bytes);
	int64		bound = PG_INT64_MAX;

	for (uint32 i = 0; i < Min(header->history_count, PLH_HISTORY_POINTS); i++)
	{
		const PlhHistoryPoint *point = &header->history[i];
		int64		live = Min(sound(point->live_bytes), peak);

		if (live < peak - peak / PEAK_PART)
			continue;
		if (!header->malloc_tracked)
			bound = Min(bound, sound(point->context_bytes) + peak - live);
		else if (point->malloc_bytes >= 0)
			bound = Min(bound, sound(point->malloc_bytes) + peak - live);
	}
	return bound;
}

/* The name of the contexts of a family that have most, in this database's encoding. */
const char *
plh_account_name(const PlhFamilyAccount *account, const PlhProfileImage *image)
{
	const PlhStringRecord *name = name_of(account->largest, image);

	return name == NULL ? PLH_NO_CONTEXT_NAME :
		plh_database_text_fit_foreign(name->text, name->text_bytes, image->header->encoding);
}

/* What the contexts of a family are called within a sentence. */
const char *
plh_account_title(const PlhFamilyAccount *account, const PlhProfileImage *image)
{
	if (account->family != NULL)
		return account->family->title;
	return account->contexts == 1 ? plh_account_name(account, image) :
		psprintf("contexts named %s", plh_account_name(account, image));
}

/*
 * All that the process has from malloc, free or not.  The figures of a hostile profile may be too
 * large to be added up as int64.
 */
static double
allocated_bytes(const PlhProfileHeader *header)
{
	return (double) Max(header->context_bytes, header->malloc_bytes) +
		(double) Max(0, header->malloc_free_bytes);
}

/*
 * How much of all that there was had not been written to at the last count; 0 where that is not
 * known.
 */
int64
plh_account_unwritten_bytes(const PlhProfileHeader *header)
{
	double		bytes = allocated_bytes(header) - (double) header->own_bytes;

	if (header->census_at == 0 || header->malloc_bytes < 0 || bytes <= 0)
		return 0;
	return (int64) Min(bytes, (double) (PG_INT64_MAX / 2));
}

/*
 * What a process that has "own_bytes" now has gained since its last count, if that is outside of
 * contexts, as samples since stand for next to nothing of it; else 0.  What was counted and only
 * then written to is no gain, and what is sampled rarely may be missed.
 */
int64
plh_account_gained_outside(const PlhProfileHeader *header, int64 own_bytes)
{
	double		gained = (double) own_bytes - (double) plh_account_unwritten_bytes(header);
	double		sampled = (double) header->counters.live_bytes;

	if (header->census_at != 0)
	{
		gained -= (double) header->own_bytes;
		sampled -= (double) header->passing_sampled_bytes + (double) header->lasting_sampled_bytes;
	}
	if (gained <= 0 || header->malloc_tracked || sampled > gained / GAIN_PART ||
		plh_sampling_coarse_interval(header->sample_interval, 0) > gained / GAIN_PART)
		return 0;
	return (int64) Min(gained, (double) BYTES_MAX);
}

/*
 * How much of these bytes that was, at least.  Whatever else the process has may be what was not
 * written to, which takes no memory.
 */
PlhUnwritten
plh_account_unwritten_of(int64 bytes, const PlhProfileHeader *header)
{
	double		least = header->census_at == 0 ? 0 :
		Min((double) bytes, allocated_bytes(header)) - (double) header->own_bytes;

	if (bytes > 0 && least >= (double) bytes / 2)
		return PLH_UNWRITTEN_MOST;
	return least > 0 && least >= (double) bytes / WORTH_PART ?
		PLH_UNWRITTEN_PART : PLH_UNWRITTEN_LITTLE;
}
