/*
 * profile_image.c
 *	  Bounds-checked access to a profile in memory, of this process or of any other.
 *
 * Invariant: every record of an image that a function here returns lies within image->bytes as a
 * whole, with all its variable part.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/fork.h"
#include "base/page_layout.h"
#include "base/sampling.h"
#include "profile/profile_image.h"

/* No process has more. */
#define BYTES_MAX (PG_INT64_MAX / 65536)

/* The sizes of records, by kind, up to their variable parts. */
static const uint32 fixed_bytes[PLH_RECORD_KINDS] = {
	[PLH_RECORD_MODULE] = offsetof(PlhModuleRecord, path),
	[PLH_RECORD_STRING] = offsetof(PlhStringRecord, text),
	[PLH_RECORD_STATEMENT] = offsetof(PlhStatementRecord, text),
	[PLH_RECORD_STACK] = offsetof(PlhStackRecord, frames),
	[PLH_RECORD_SITE] = sizeof(PlhSiteRecord),
	[PLH_RECORD_CONTEXT] = sizeof(PlhContextRecord),
	[PLH_RECORD_FREE] = sizeof(PlhRecord),
	[PLH_RECORD_COURSE] = offsetof(PlhCourseRecord, contexts),
	[PLH_RECORD_SPANS] = sizeof(PlhSpansRecord),
	[PLH_RECORD_EXAMPLE] = offsetof(PlhExampleRecord, text)
};

/* Say in a header that it, and the records behind it, have this layout. */
void
plh_profile_image_note_layout(PlhProfileHeader *header)
{
	memcpy(header->magic, PLH_PROFILE_MAGIC, sizeof(header->magic));
	header->layout_version = PLH_LAYOUT_VERSION;
}

/* Is that the header of a profile of this layout?  Only its start is looked at. */
bool
plh_profile_image_has_layout(const PlhProfileHeader *header)
{
	return memcmp(header->magic, PLH_PROFILE_MAGIC, sizeof(header->magic)) == 0 &&
		header->layout_version == PLH_LAYOUT_VERSION;
}

/* Can that be a record of this layout, in that many bytes?  Only its head is looked at. */
bool
plh_profile_image_is_record(const PlhRecord *record, Size room)
{
	return room >= sizeof(PlhRecord) && record->kind < PLH_RECORD_KINDS &&
		record->bytes >= sizeof(PlhRecord) && record->bytes % 8 == 0 && record->bytes <= room;
}

/* Has a record a text of that length behind its fixed part, and its end? */
static bool
has_text(const PlhRecord *record, uint64 length, uint64 max_length)
{
	Size		fixed = fixed_bytes[record->kind];

	return length <= max_length && length < record->bytes - fixed &&
		((const char *) record)[fixed + length] == '\0';
}

/*
 * Is a record, which lies in the image as a whole, consistent in itself?  None is larger than its
 * owner makes it: thousands of sites may refer to a single one, and each has a text of its own in a
 * report.
 */
static bool
is_sound(const PlhRecord *record)
{
	const PlhModuleRecord *module = (const PlhModuleRecord *) record;
	const PlhStackRecord *stack = (const PlhStackRecord *) record;
	Size		fixed = fixed_bytes[record->kind];

	if (record->bytes < fixed)
		return false;
	switch ((PlhRecordKind) record->kind)
	{
		case PLH_RECORD_MODULE:
			return has_text(record, module->path_bytes, MAXPGPATH - 1) &&
				module->build_id_bytes <= PLH_BUILD_ID_MAX;
		case PLH_RECORD_STRING:
			return has_text(record, ((const PlhStringRecord *) record)->text_bytes,
							PLH_CONTEXT_NAME_MAX);
		case PLH_RECORD_STATEMENT:
			return has_text(record, ((const PlhStatementRecord *) record)->text_bytes,
							PLH_STATEMENT_MAX);
		case PLH_RECORD_EXAMPLE:
			return has_text(record, ((const PlhExampleRecord *) record)->text_bytes,
							PLH_EXAMPLE_MAX);
		case PLH_RECORD_STACK:
			return stack->depth <= PLH_MAX_FRAMES &&
				stack->depth <= (record->bytes - fixed) / sizeof(PlhFrame);
		case PLH_RECORD_SITE:
		case PLH_RECORD_CONTEXT:
		case PLH_RECORD_SPANS:
			return true;
		case PLH_RECORD_COURSE:
			return ((const PlhCourseRecord *) record)->course_of != PLH_COURSE_CONTEXTS ||
				record->bytes - fixed >= sizeof(uint32) * PLH_HISTORY_POINTS;
		case PLH_RECORD_FREE:
			break;				/* nothing refers to it */
	}
	return false;
}

/* Returns the record of that kind at an offset, or NULL if none is sound. */
const void *
plh_profile_image_at(const PlhProfileImage *image, uint32 offset, PlhRecordKind kind)
{
	const PlhRecord *record;

	if (offset < sizeof(PlhProfileHeader) || offset % 8 != 0 ||
		offset + sizeof(PlhRecord) > image->bytes)
		return NULL;

	record = (const PlhRecord *) ((const char *) image->header + offset);
	if (record->kind != kind || record->bytes > image->bytes - offset || !is_sound(record))
		return NULL;
	return record;
}

/*
 * Returns the next record of that kind at *position or behind, and moves
 * *position, which is 0 at first, behind it.  Returns NULL at the end, or
 * where the sequence of records breaks.
 */
const void *
plh_profile_image_next(const PlhProfileImage *image, PlhRecordKind kind, uint32 *position)
{
	Size		offset = *position == 0 ? MAXALIGN(sizeof(PlhProfileHeader)) : *position;

	while (offset + sizeof(PlhRecord) <= image->bytes)
	{
		const PlhRecord *record = (const PlhRecord *) ((const char *) image->header + offset);
		Size		bytes = record->bytes;

		if (bytes < sizeof(PlhRecord) || bytes % 8 != 0 || bytes > image->bytes - offset)
			break;
		offset += bytes;

		/* all but what it is has been checked: most are of other kinds */
		if (record->kind == kind && is_sound(record))
		{
			*position = offset;
			return record;
		}
	}
	*position = offset;
	return NULL;
}

static void
index_modules(PlhProfileImage *image)
{
	const PlhModuleRecord *module;
	uint32		position = 0;

	memset(image->modules, 0, sizeof(image->modules));
	while ((module = plh_profile_image_next(image, PLH_RECORD_MODULE, &position)) != NULL)
	{
		if (module->index > 0 && module->index < PLH_IMAGE_MODULES)
			image->modules[module->index] = (const char *) module - (const char *) image->header;
	}
}

/*
 * Make an image of a profile in memory, of which "bytes" can be read.  The caller fills in the
 * path, and whether the owner is running.
 */
void
plh_profile_image_adopt(PlhProfileImage *image, const PlhProfileHeader *header, Size bytes)
{
	Assert(bytes >= sizeof(PlhProfileHeader));
	image->header = header;
	image->bytes = bytes;
	index_modules(image);
}

/* An image of our own profile, neither copied nor moved; valid until the next call. */
PlhProfileImage *
plh_profile_image_own(const PlhProfileHeader *header)
{
	/* it is made anew at each call */
	static PLH_SURVIVES_FORK PLH_LARGE PlhProfileImage own;

	own.alive = true;
	own.crashed = false;
	own.path[0] = '\0';
	own.proof = NULL;
	plh_profile_image_adopt(&own, header, header->used_bytes);
	return &own;
}

uint32
plh_profile_image_live_sites(const PlhProfileImage *image)
{
	const PlhSiteRecord *site;
	uint32		position = 0;
	uint32		count = 0;

	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
		count += site->counters.live_count > 0;
	return count;
}

/* The owner's backend type: its label, or the name that this server has for the type. */
const char *
plh_profile_image_backend_type(const PlhProfileImage *image)
{
	return image->header->label[0] != '\0' ? image->header->label :
		GetBackendTypeDesc(image->header->backend_type);
}

/* Returns the offset of a record in the profile, which never changes. */
uint32
plh_profile_image_offset(const PlhProfileImage *image, const void *record)
{
	Size		offset = (const char *) record - (const char *) image->header;

	Assert(offset >= sizeof(PlhProfileHeader));
	Assert(offset + ((const PlhRecord *) record)->bytes <= image->bytes);
	return offset;
}

/* Returns how many samples of that process are not counted as live, or not at their site. */
int64
plh_profile_image_lost_samples(const PlhProfileHeader *header)
{
	int64		sum = 0;

	for (int loss = 0; loss < PLH_LOSSES; loss++)
		sum += header->lost_samples[loss];
	return sum;
}

/* Returns the stack at an offset; NULL if libunwind found no frames for it. */
const PlhStackRecord *
plh_profile_image_stack(const PlhProfileImage *image, uint32 offset)
{
	const PlhStackRecord *stack = plh_profile_image_at(image, offset, PLH_RECORD_STACK);

	return stack != NULL && stack->depth > 0 ? stack : NULL;
}

/* Returns the module that frames refer to by "index". */
const PlhModuleRecord *
plh_profile_image_module(const PlhProfileImage *image, uint32 index)
{
	if (index >= PLH_IMAGE_MODULES)
		return NULL;
	return plh_profile_image_at(image, image->modules[index], PLH_RECORD_MODULE);
}

/* Are these the same binary?  Those without a build-id are, by their path. */
bool
plh_profile_image_is_same_module(const PlhModuleRecord *left, const PlhModuleRecord *right)
{
	return left->build_id_bytes == right->build_id_bytes &&
		(left->build_id_bytes > 0 ?
		 memcmp(left->build_id, right->build_id, left->build_id_bytes) == 0 :
		 strcmp(left->path, right->path) == 0);
}

/* Can others see the whole profile?  If not, there was no room beside what others need. */
bool
plh_profile_image_is_whole(const PlhProfileHeader *header)
{
	return header->used_bytes <= header->published_bytes;
}

/* Returns the bound of the error of the bytes that the process holds. */
double
plh_profile_image_live_error_bytes(const PlhProfileHeader *header)
{
	const PlhCounters *counters = &header->counters;

	return plh_sampling_error_bytes(counters->live_variance, counters->live_bytes,
									counters->live_samples);
}

/*
 * Returns the lower end of the estimate of the bytes that the process holds.  At the default
 * interval two samples are worth a megabyte by themselves, and by chance many a short connection
 * has two.
 */
double
plh_profile_image_surely_live_bytes(const PlhProfileHeader *header)
{
	double		error = plh_profile_image_live_error_bytes(header);

	/* in this order 0 also stands for an error that is not a number */
	return Max(header->counters.live_bytes - error, 0.0);
}

/*
 * Returns the name of a lifetime that users see.  The number comes from a profile and may be any.
 */
const char *
plh_profile_image_lifetime_name(uint32 lifetime)
{
	static const char *const names[PLH_LIFETIMES] = {
		[PLH_LIFETIME_SESSION] = "session",
		[PLH_LIFETIME_TRANSACTION] = "transaction",
		[PLH_LIFETIME_STATEMENT] = "statement",
		[PLH_LIFETIME_QUERY] = "query",
		[PLH_LIFETIME_ERROR] = "error",
		[PLH_LIFETIME_PROCESS] = "process"
	};

	return lifetime < PLH_LIFETIMES ? names[lifetime] : "unknown";
}

/* The most that the process ever had, by its samples or by the kernel's count. */
int64
plh_profile_image_peak_bytes(const PlhProfileHeader *header)
{
	return Max(header->peak_bytes, header->own_peak_bytes);
}

/*
 * What the process had in memory contexts and otherwise from malloc, which also gives the contexts
 * theirs, when it last counted them; 0 if it never did.
 */
int64
plh_profile_image_counted_bytes(const PlhProfileHeader *header)
{
	return header->census_at == 0 ? 0 : Max(header->context_bytes, header->malloc_bytes);
}

/* A figure that sums of some do not overflow with: a damaged header may have any. */
static int64
sound(int64 bytes)
{
	return Max(0, Min(bytes, BYTES_MAX));
}

/*
 * What the process held when it last wrote to its profile.  What was counted is exact: samples tell
 * only what has changed since.  A process that was never counted is what its samples say.
 */
PlhHeldBytes
plh_profile_image_held_bytes(const PlhProfileHeader *header)
{
	int64		counted = sound(plh_profile_image_counted_bytes(header));
	int64		then = header->census_at == 0 ? 0 :
		sound(header->passing_sampled_bytes) +
		sound(header->lasting_sampled_bytes) + sound(header->malloc_sampled_bytes);
	int64		now = sound(header->counters.live_bytes);
	int64		change = now > then ? now - then : then - now;
	double		part = now == 0 ? 0.0 : Min(1.0, (double) change / now);
	double		samples = part * sound(header->counters.live_samples);
	double		error =
		plh_sampling_error_bytes(part * header->counters.live_variance, change,
								 Max((int64) samples, 1));

	return (PlhHeldBytes)
	{
		.bytes = Max(0, counted + now - then),
			.gained_bytes = now - then,
			.error_bytes = sound((int64) error)
	};
}

/* What was counted, if no sample came later: all can't stand for more.  Else PG_INT64_MAX. */
int64
plh_profile_image_live_bound(const PlhProfileHeader *header)
{
	if (header->census_at == 0 || header->counters.last_at > header->census_at)
		return PG_INT64_MAX;
	if (!header->malloc_tracked)
		return Max(0, header->context_bytes);
	return header->malloc_bytes < 0 ? PG_INT64_MAX : plh_profile_image_counted_bytes(header);
}

/* When a process died, or else when it last wrote to its profile. */
TimestampTz
plh_profile_image_ended_at(const PlhProfileHeader *header)
{
	return header->death.at != 0 ? header->death.at :
		Max(Max(header->counters.last_at, header->census_at), header->started_at);
}

/*
 * A process that rests, and is asked, counts as well: that is no work, in which it might have
 * added something.
 */
TimestampTz
plh_profile_image_worked_at(const PlhProfileHeader *header)
{
	return header->worked_at == 0 ? header->census_at : Min(header->worked_at, header->census_at);
}
