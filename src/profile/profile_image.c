/*
 * profile_image.c
 *	  Bounds-checked access to a profile in memory, of this process or of any
 *	  other.
 *
 * This code runs inside palloc.
 *
 * Invariant: every record of an image that a function here returns lies
 * within image->bytes as a whole, with all its variable part.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/limits.h"
#include "base/page_layout.h"
#include "base/sampling.h"
#include "profile/profile_image.h"

/* Returns how many bytes the variable part of a record may have. */
static Size
payload_bytes(const PlhRecord *record, Size fixed_bytes)
{
	return record->bytes - fixed_bytes;
}

/*
 * Is a record, which lies in the image as a whole, consistent in itself?  None is
 * larger than its owner makes it: thousands of sites may refer to a single one,
 * and each has a text of its own in a report.
 */
static bool
is_sound(const PlhRecord *record)
{
	switch ((PlhRecordKind) record->kind)
	{
		case PLH_RECORD_MODULE:
			{
				const PlhModuleRecord *module = (const PlhModuleRecord *) record;
				Size		fixed = offsetof(PlhModuleRecord, path);

				return record->bytes > fixed &&
					module->path_bytes < MAXPGPATH &&
					module->path_bytes < payload_bytes(record, fixed) &&
					module->path[module->path_bytes] == '\0' &&
					module->build_id_bytes <= PLH_BUILD_ID_MAX;
			}
		case PLH_RECORD_STRING:
			{
				const PlhStringRecord *string = (const PlhStringRecord *) record;
				Size		fixed = offsetof(PlhStringRecord, text);

				return record->bytes > fixed &&
					string->text_bytes <= PLH_CONTEXT_NAME_MAX &&
					string->text_bytes < payload_bytes(record, fixed) &&
					string->text[string->text_bytes] == '\0';
			}
		case PLH_RECORD_STATEMENT:
			{
				const PlhStatementRecord *statement = (const PlhStatementRecord *) record;
				Size		fixed = offsetof(PlhStatementRecord, text);

				return record->bytes > fixed &&
					statement->text_bytes <= PLH_STATEMENT_MAX &&
					statement->text_bytes < payload_bytes(record, fixed) &&
					statement->text[statement->text_bytes] == '\0';
			}
		case PLH_RECORD_STACK:
			{
				const PlhStackRecord *stack = (const PlhStackRecord *) record;
				Size		fixed = offsetof(PlhStackRecord, frames);

				return record->bytes >= fixed &&
					stack->depth <= PLH_MAX_FRAMES &&
					stack->depth <= payload_bytes(record, fixed) / sizeof(PlhFrame);
			}
		case PLH_RECORD_SITE:
			return record->bytes >= sizeof(PlhSiteRecord);
		case PLH_RECORD_CONTEXT:
			return record->bytes >= sizeof(PlhContextRecord);
		case PLH_RECORD_FREE:
			break;				/* nothing refers to it */
	}
	return false;
}

/* Asserts that a record lies within its image as a whole. */
static inline void
assert_in_image(const PlhProfileImage *image, const PlhRecord *record)
{
	Size		offset PG_USED_FOR_ASSERTS_ONLY =
		(const char *) record - (const char *) image->header;

	Assert(offset >= sizeof(PlhProfileHeader));
	Assert(offset + record->bytes <= image->bytes);
}

/* Returns the record of that kind at an offset, or NULL if none is sound. */
static const void *
record_at(const PlhProfileImage *image, uint32 offset, PlhRecordKind kind)
{
	const PlhRecord *record;

	if (offset < sizeof(PlhProfileHeader) || offset % 8 != 0 ||
		offset + sizeof(PlhRecord) > image->bytes)
		return NULL;

	record = (const PlhRecord *) ((const char *) image->header + offset);
	if (record->kind != kind || record->bytes > image->bytes - offset ||
		!is_sound(record))
		return NULL;
	assert_in_image(image, record);
	return record;
}

/*
 * Returns the next record of that kind at *position or behind, and moves
 * *position, which is 0 at first, behind it.  Returns NULL at the end, or
 * where the sequence of records breaks.
 */
static const void *
next_record(const PlhProfileImage *image, PlhRecordKind kind,
			uint32 *position)
{
	Size		offset = *position == 0 ? MAXALIGN(sizeof(PlhProfileHeader)) :
		*position;

	while (offset + sizeof(PlhRecord) <= image->bytes)
	{
		const PlhRecord *record =
			(const PlhRecord *) ((const char *) image->header + offset);
		Size		bytes = record->bytes;

		if (bytes < sizeof(PlhRecord) || bytes % 8 != 0 ||
			bytes > image->bytes - offset)
			break;
		*position = offset + bytes;
		if (record_at(image, offset, kind) != NULL)
			return record;
		offset += bytes;
	}
	return NULL;
}

/* Enter the offsets of an image's modules into its table. */
static void
index_modules(PlhProfileImage *image)
{
	const PlhModuleRecord *module;
	uint32		position = 0;

	memset(image->modules, 0, sizeof(image->modules));
	while ((module = next_record(image, PLH_RECORD_MODULE, &position)) != NULL)
	{
		if (module->index < PLH_IMAGE_MODULES)
			image->modules[module->index] = (const char *) module -
				(const char *) image->header;
	}
}

/*
 * Make an image of a profile in memory, of which "bytes" can be read.  The
 * caller fills in the path, and whether the owner is running.
 */
void
plh_profile_image_adopt(PlhProfileImage *image, const PlhProfileHeader *header,
						Size bytes)
{
	Assert(bytes >= sizeof(PlhProfileHeader));
	image->header = header;
	image->bytes = bytes;
	index_modules(image);
}

/*
 * Returns an image of this process' own profile, which is neither copied nor
 * moved.  The image is valid until the next call.
 */
PlhProfileImage *
plh_profile_image_own(const PlhProfileHeader *header)
{
	static PLH_LARGE PlhProfileImage own;

	own.alive = true;
	own.crashed = false;
	own.path[0] = '\0';
	plh_profile_image_adopt(&own, header, header->used_bytes);
	return &own;
}

/*
 * Returns the next site at *position or behind, and moves *position, which is
 * 0 at first, behind it.  Returns NULL at the end.
 */
const PlhSiteRecord *
plh_profile_image_next_site(const PlhProfileImage *image, uint32 *position)
{
	return next_record(image, PLH_RECORD_SITE, position);
}

/*
 * Returns the owner's backend type: its own label, or the name that this
 * version of the server has for the type.
 */
const char *
plh_profile_image_backend_type(const PlhProfileImage *image)
{
	return image->header->label[0] != '\0' ? image->header->label :
		GetBackendTypeDesc(image->header->backend_type);
}

/*
 * Returns the offset of a record in the profile, which never changes.
 */
uint32
plh_profile_image_offset(const PlhProfileImage *image, const void *record)
{
	assert_in_image(image, record);
	return (const char *) record - (const char *) image->header;
}

/*
 * Returns the next record of memory contexts, as plh_profile_image_next_site
 * does for sites.
 */
const PlhContextRecord *
plh_profile_image_next_context(const PlhProfileImage *image,
							   uint32 *position)
{
	return next_record(image, PLH_RECORD_CONTEXT, position);
}

/*
 * Returns how many samples of that process are not counted as live, or not at
 * their site.
 */
int64
plh_profile_image_lost_samples(const PlhProfileHeader *header)
{
	int64		sum = 0;

	for (int loss = 0; loss < PLH_LOSSES; loss++)
		sum += header->lost_samples[loss];
	return sum;
}

/*
 * Returns the site at an offset.
 */
const PlhSiteRecord *
plh_profile_image_site(const PlhProfileImage *image, uint32 offset)
{
	return record_at(image, offset, PLH_RECORD_SITE);
}

/*
 * Returns the stack at an offset; NULL if libunwind found no frames for it.
 */
const PlhStackRecord *
plh_profile_image_stack(const PlhProfileImage *image, uint32 offset)
{
	const PlhStackRecord *stack = record_at(image, offset, PLH_RECORD_STACK);

	return stack != NULL && stack->depth > 0 ? stack : NULL;
}

/*
 * Returns the statement at an offset.
 */
const PlhStatementRecord *
plh_profile_image_statement(const PlhProfileImage *image, uint32 offset)
{
	return record_at(image, offset, PLH_RECORD_STATEMENT);
}

/*
 * Returns the string at an offset.
 */
const PlhStringRecord *
plh_profile_image_string(const PlhProfileImage *image, uint32 offset)
{
	return record_at(image, offset, PLH_RECORD_STRING);
}

/*
 * Returns the module that frames refer to by "index".
 */
const PlhModuleRecord *
plh_profile_image_module(const PlhProfileImage *image, uint32 index)
{
	if (index >= PLH_IMAGE_MODULES)
		return NULL;
	return record_at(image, image->modules[index], PLH_RECORD_MODULE);
}

/*
 * Can other processes see the whole profile?  If not, its file system had no
 * room for it beside what others need.
 */
bool
plh_profile_image_is_whole(const PlhProfileHeader *header)
{
	return header->used_bytes <= header->published_bytes;
}

/*
 * Returns the bound of the error of the bytes that the process holds.
 */
double
plh_profile_image_live_error_bytes(const PlhProfileHeader *header)
{
	const PlhCounters *counters = &header->counters;

	return plh_sampling_error_bytes(counters->live_variance,
									counters->live_bytes,
									counters->live_samples);
}

/*
 * Returns the lower end of the estimate of the bytes that the process holds.
 * At the default interval two samples are worth a megabyte by themselves, and
 * by chance many a short connection has two.
 */
double
plh_profile_image_surely_live_bytes(const PlhProfileHeader *header)
{
	double		error = plh_profile_image_live_error_bytes(header);

	/* in this order 0 also stands for an error that is not a number */
	return Max(header->counters.live_bytes - error, 0.0);
}

/*
 * Returns the name of a lifetime that users see.  The number comes from a
 * profile and may be any.
 */
const char *
plh_profile_image_lifetime_name(uint32 lifetime)
{
	switch ((PlhLifetime) lifetime)
	{
		case PLH_LIFETIME_SESSION:
			return "session";
		case PLH_LIFETIME_TRANSACTION:
			return "transaction";
		case PLH_LIFETIME_STATEMENT:
			return "statement";
		case PLH_LIFETIME_QUERY:
			return "query";
		case PLH_LIFETIME_PROCESS:
			return "process";
		case PLH_LIFETIME_ERROR:
			return "error";
	}
	return "unknown";
}

/*
 * The most that the process ever had, by its samples or by the kernel's count.
 */
int64
plh_profile_image_peak_bytes(const PlhProfileHeader *header)
{
	return Max(header->peak_bytes, header->own_peak_bytes);
}

/*
 * What the process had in memory contexts and otherwise from malloc, which also
 * gives the contexts theirs, when it last counted them; 0 if it never did.
 */
int64
plh_profile_image_counted_bytes(const PlhProfileHeader *header)
{
	return header->census_at == 0 ? 0 :
		Max(header->context_bytes, header->malloc_bytes);
}

/*
 * When a process that is gone was last known to be there: when it died, or else
 * when it last wrote to its profile.
 */
TimestampTz
plh_profile_image_ended_at(const PlhProfileHeader *header)
{
	return header->death.at != 0 ? header->death.at :
		Max(Max(header->counters.last_at, header->census_at),
			header->started_at);
}
