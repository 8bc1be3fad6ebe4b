/*
 * profile_layouts.c
 *	  Reads profiles of other layouts than ours: of the one before, and of ours
 *	  with headers and records of other sizes.
 *
 * Fields are added at the ends of headers and records only.  So to convert a
 * profile is to copy each record with the room that it has now, zeros where
 * nothing was, and to let records refer to the new offsets of others.
 */
#include "postgres.h"

#include "profile/profile_image.h"
#include "reader/profile_layouts.h"

/* Layout 7 had no sizes in its header, which ended before them, no births and no examples. */
#define LAYOUT_7_HEADER_BYTES offsetof(PlhProfileHeader, header_bytes)
#define LAYOUT_7_SITE_BYTES offsetof(PlhSiteRecord, births)
#define LAYOUT_7_CONTEXT_BYTES offsetof(PlhContextRecord, examples)

/* A profile that is being converted. */
typedef struct Conversion
{
	const char *old;
	Size		old_bytes;
	uint32		old_header_bytes;
	uint32		old_record_bytes[PLH_RECORD_SIZES];
	PlhProfileHeader *profile;
	Size		bytes;			/* so far */
	PlhMovedRecords *moved;
} Conversion;

bool
plh_profile_layouts_are_known(const PlhProfileHeader *header)
{
	return memcmp(header->magic, PLH_PROFILE_MAGIC,
				  sizeof(header->magic)) == 0 &&
		header->layout_version >= PLH_OLDEST_LAYOUT &&
		header->layout_version <= PLH_LAYOUT_VERSION;
}

/* The size of a profile's header. */
static uint32
header_bytes_of(const PlhProfileHeader *header)
{
	return header->layout_version == PLH_OLDEST_LAYOUT ?
		LAYOUT_7_HEADER_BYTES : header->header_bytes;
}

/* Does a profile have our layout, so that there is nothing to convert? */
static bool
is_ours(const PlhProfileHeader *header)
{
	return header->layout_version == PLH_LAYOUT_VERSION &&
		header->header_bytes == sizeof(PlhProfileHeader) &&
		memcmp(header->record_bytes, plh_profile_image_sizes,
			   sizeof(plh_profile_image_sizes)) == 0;
}

void
plh_profile_layouts_convert_header(PlhProfileHeader *header)
{
	uint32		known = header_bytes_of(header);

	if (known < sizeof(*header))
		memset((char *) header + Max(known, LAYOUT_7_HEADER_BYTES), 0,
			   sizeof(*header) - Max(known, LAYOUT_7_HEADER_BYTES));
	if (known <= offsetof(PlhProfileHeader, unsampled_bytes))
		header->unsampled_bytes = -1;
	plh_profile_image_note_sizes(header);
}

void
plh_profile_layouts_end_texts(PlhProfileHeader *header)
{
	header->label[sizeof(header->label) - 1] = '\0';
	header->application_name[sizeof(header->application_name) - 1] = '\0';
	header->database[sizeof(header->database) - 1] = '\0';
	header->role[sizeof(header->role) - 1] = '\0';
}

/*
 * Returns the record at an offset, and moves the offset, 0 at first, behind it;
 * NULL where the sequence of records breaks.
 */
static const PlhRecord *
next_record(const Conversion *conversion, Size *offset)
{
	const PlhRecord *record;

	if (*offset == 0)
		*offset = TYPEALIGN(8, (Size) conversion->old_header_bytes);
	if (*offset + sizeof(PlhRecord) > conversion->old_bytes)
		return NULL;
	record = (const PlhRecord *) (conversion->old + *offset);
	if (record->bytes < sizeof(PlhRecord) || record->bytes % 8 != 0 ||
		record->bytes > conversion->old_bytes - *offset)
		return NULL;
	*offset += record->bytes;
	return record;
}

/* Is that a record that is kept, and not free, or of a kind that we do not know? */
static bool
is_kept(const PlhRecord *record)
{
	return record->kind != 0 && record->kind != PLH_RECORD_FREE &&
		record->kind < PLH_RECORD_KINDS;
}

/* The size that a record has in our layout. */
static Size
converted_bytes(const Conversion *conversion, const PlhRecord *record)
{
	uint32		old_fixed = conversion->old_record_bytes[record->kind];

	return TYPEALIGN(8, (Size) plh_profile_image_sizes[record->kind] +
					 record->bytes - Min(old_fixed, record->bytes));
}

/* Copy a record behind the others. */
static void
copy_record(Conversion *conversion, const PlhRecord *record)
{
	uint32		fixed = plh_profile_image_sizes[record->kind];
	uint32		old_fixed = Min(conversion->old_record_bytes[record->kind],
								record->bytes);
	PlhRecord  *copy =
		(PlhRecord *) ((char *) conversion->profile + conversion->bytes);

	memcpy(copy, record, Min(old_fixed, fixed));
	memcpy((char *) copy + fixed, (const char *) record + old_fixed,
		   record->bytes - old_fixed);
	copy->kind = record->kind;
	copy->bytes = converted_bytes(conversion, record);
	conversion->moved->offsets[((const char *) record - conversion->old) / 8] =
		conversion->bytes;
	conversion->bytes += copy->bytes;
}

/* Copy all records. */
static void
copy_records(Conversion *conversion)
{
	const PlhRecord *record;
	Size		offset = 0;

	conversion->bytes = MAXALIGN(sizeof(PlhProfileHeader));
	while ((record = next_record(conversion, &offset)) != NULL)
	{
		if (is_kept(record))
			copy_record(conversion, record);
	}
}

/* The new offset of a record; 0 if there is none. */
static uint32
moved_to(const PlhMovedRecords *moved, uint32 offset)
{
	return offset / 8 < moved->count && offset % 8 == 0 ?
		moved->offsets[offset / 8] : 0;
}

/* Let a site refer to the new offsets. */
static void
redirect_site(PlhSiteKey *key, const PlhMovedRecords *moved)
{
	if (key->stack != PLH_FORMER_STACKS)
		key->stack = moved_to(moved, key->stack);
	key->context_name = moved_to(moved, key->context_name);
	key->statement = moved_to(moved, key->statement);
}

/* Let a record refer to the new offsets. */
static void
redirect_record(PlhRecord *record, const PlhMovedRecords *moved)
{
	PlhSiteRecord *site = (PlhSiteRecord *) record;
	PlhContextRecord *context = (PlhContextRecord *) record;
	PlhCourseRecord *course = (PlhCourseRecord *) record;
	PlhExampleRecord *example = (PlhExampleRecord *) record;

	switch (record->kind)
	{
		case PLH_RECORD_SITE:
			redirect_site(&site->key, moved);
			site->spans = moved_to(moved, site->spans);
			break;
		case PLH_RECORD_CONTEXT:
			context->context_name = moved_to(moved, context->context_name);
			context->examples = moved_to(moved, context->examples);
			break;
		case PLH_RECORD_COURSE:
			course->followed = moved_to(moved, course->followed);
			redirect_site(&course->key, moved);
			break;
		case PLH_RECORD_EXAMPLE:
			example->next = moved_to(moved, example->next);
			break;
	}
}

/* Let all records refer to the new offsets. */
static void
redirect_records(Conversion *conversion)
{
	Size		offset = MAXALIGN(sizeof(PlhProfileHeader));

	while (offset < conversion->bytes)
	{
		PlhRecord  *record =
			(PlhRecord *) ((char *) conversion->profile + offset);

		redirect_record(record, conversion->moved);
		offset += record->bytes;
	}
	conversion->profile->catch_all_site =
		moved_to(conversion->moved, conversion->profile->catch_all_site);
}

/* Take memory for the profile as it will be, and for the new offsets. */
static void
take_memory(Conversion *conversion)
{
	const PlhRecord *record;
	Size		offset = 0;
	Size		bytes = MAXALIGN(sizeof(PlhProfileHeader));

	while ((record = next_record(conversion, &offset)) != NULL)
		bytes += is_kept(record) ? converted_bytes(conversion, record) : 0;
	if (bytes > PG_INT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the profile of process %d is too large to be converted",
						((const PlhProfileHeader *) conversion->old)->pid)));
	conversion->profile =
		MemoryContextAllocExtended(CurrentMemoryContext, bytes,
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	conversion->moved = palloc0(sizeof(PlhMovedRecords));
	conversion->moved->count = conversion->old_bytes / 8;
	conversion->moved->offsets =
		MemoryContextAllocExtended(CurrentMemoryContext,
								   sizeof(uint32) * (conversion->moved->count + 1),
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

PlhProfileHeader *
plh_profile_layouts_convert(PlhProfileHeader *header, Size *bytes,
							PlhMovedRecords **moved)
{
	Conversion	conversion = {
		.old = (const char *) header,
		.old_bytes = *bytes,
		.old_header_bytes = header_bytes_of(header)
	};
	uint32		unpublished = header->used_bytes > header->published_bytes ?
		header->used_bytes - header->published_bytes : 0;

	*moved = NULL;
	if (is_ours(header))
		return header;

	/* of layout 7's, only sites and contexts have become larger */
	memcpy(conversion.old_record_bytes,
		   header->layout_version == PLH_OLDEST_LAYOUT ?
		   plh_profile_image_sizes : header->record_bytes,
		   sizeof(conversion.old_record_bytes));
	if (header->layout_version == PLH_OLDEST_LAYOUT)
	{
		conversion.old_record_bytes[PLH_RECORD_SITE] = LAYOUT_7_SITE_BYTES;
		conversion.old_record_bytes[PLH_RECORD_CONTEXT] = LAYOUT_7_CONTEXT_BYTES;
	}
	take_memory(&conversion);
	memcpy(conversion.profile, header,
		   Min(sizeof(PlhProfileHeader), conversion.old_bytes));
	plh_profile_layouts_convert_header(conversion.profile);
	copy_records(&conversion);
	redirect_records(&conversion);
	conversion.profile->published_bytes = conversion.bytes;
	conversion.profile->used_bytes = conversion.bytes + unpublished;
	*bytes = conversion.bytes;
	*moved = conversion.moved;
	return conversion.profile;
}

void
plh_profile_layouts_convert_baseline(PlhBaseline *baseline,
									 const PlhMovedRecords *moved)
{
	for (uint32 i = 0; i < baseline->site_count; i++)
	{
		PlhBaselineSite *entry = &baseline->sites[i];

		entry->site = moved_to(moved, entry->site);
		entry->context_name = moved_to(moved, entry->context_name);
		if (entry->stack != PLH_FORMER_STACKS)
			entry->stack = moved_to(moved, entry->stack);
	}
	baseline->seen_bytes = 0;
}
