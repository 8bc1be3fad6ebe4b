/*
 * statistics_image.c
 *	  Statistics of memory contexts as a profile that has counted its contexts once.
 *
 * Contexts that the text does not list one by one become part of the record of those that most of
 * their neighbours are of, or of one by itself.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "reader/profile_builder.h"
#include "statistics/statistics_image.h"

/* The time of the only count, whenever that was. */
#define COUNTED_AT 1

/* Add what contexts of a record are of.  Returns the offset of the first example; 0: none. */
static uint32
add_examples(PlhProfileBuilder *builder, const PlhStatisticsName *name, bool has_more)
{
	uint32		next = 0;

	for (int i = name->example_count - 1; i >= 0; i--)
	{
		const PlhStatisticsExample *from = &name->examples[i];
		Size		bytes = strlen(from->text);
		uint32		offset = plh_profile_builder_add(builder, PLH_RECORD_EXAMPLE,
													 offsetof(PlhExampleRecord, text) + bytes + 1);
		PlhExampleRecord *example = plh_profile_builder_record(builder, offset);

		example->next = next;
		example->contexts = from->contexts;
		example->bytes = from->bytes;
		if (has_more || from->missed_bytes > 0)
			example->flags |= PLH_EXAMPLE_AT_LEAST;
		if (from->contexts == 1 && name->contexts > 1)
			example->flags |= PLH_EXAMPLE_UNCOUNTED;
		example->text_bytes = bytes;
		memcpy(example->text, from->text, bytes);
		next = offset;
	}
	return next;
}

/* Add a record.  Returns it, which is valid until the next addition. */
static PlhContextRecord *
add_record(PlhProfileBuilder *builder, const char *name, PlhLifetime lifetime, uint32 examples)
{
	uint32		name_offset = plh_profile_builder_add_string(builder, name);
	uint32		offset = plh_profile_builder_add(builder, PLH_RECORD_CONTEXT,
												 sizeof(PlhContextRecord));
	PlhContextRecord *record = plh_profile_builder_record(builder, offset);

	record->context_name = name_offset;
	record->lifetime = lifetime;
	record->first_at = COUNTED_AT;
	record->examples = examples;
	return record;
}

static void
count(PlhContextRecord *record, int64 contexts, int64 bytes)
{
	record->instances += contexts;
	record->bytes += bytes;
	record->most_instances = record->looked_contexts = record->instances;
	record->looked_bytes = record->bytes;
}

/* The contexts of a name, with those that are likely to be, too.  Returns their bytes. */
static int64
add_name(PlhProfileBuilder *builder, const PlhStatistics *statistics, int index)
{
	const PlhStatisticsName *name = &statistics->names[index];
	int64		contexts = name->contexts;
	int64		bytes = name->bytes;

	for (int i = 0; i < statistics->rest_count; i++)
		if (statistics->rests[i].like == index)
		{
			contexts += statistics->rests[i].contexts;
			bytes += statistics->rests[i].bytes;
		}
	count(add_record(builder, name->name, name->lifetime,
					 add_examples(builder, name, contexts > name->contexts)),
		  contexts, bytes);
	return bytes;
}

/* Of what is not listed, only the context above it tells how long it lives. */
static int64
add_unlisted(PlhProfileBuilder *builder, const PlhStatistics *statistics, bool lasts)
{
	int64		contexts = 0;
	int64		bytes = 0;

	for (int i = 0; i < statistics->rest_count; i++)
	{
		const PlhStatisticsRest *rest = &statistics->rests[i];
		const PlhStatisticsName *parent = plh_statistics_name(statistics, rest->parent);

		if (rest->like >= 0 ||
			lasts != (parent == NULL || plh_lifetime_is_lasting(parent->lifetime)))
			continue;
		contexts += rest->contexts;
		bytes += rest->bytes;
	}
	if (contexts > 0)
		count(add_record(builder, PLH_UNLISTED_NAME,
						 lasts ? PLH_LIFETIME_SESSION : PLH_LIFETIME_QUERY, 0), contexts, bytes);
	return bytes;
}

/* What the header of a profile has of a count. */
static void
fill_header(PlhProfileHeader *header, const PlhStatistics *statistics, int64 passing, int encoding)
{
	header->pid = (int) Min(statistics->pid, PG_INT32_MAX);
	header->encoding = encoding;
	header->backend_type = B_BACKEND;
	header->census_at = COUNTED_AT;
	header->own_bytes = header->context_bytes = statistics->bytes;
	header->context_free_bytes = statistics->free_bytes;
	header->passing_bytes = passing;
	header->malloc_bytes = -1;
}

PlhProfileImage *
plh_statistics_image_make(const PlhStatistics *statistics, int encoding)
{
	PlhProfileImage *image = palloc0(sizeof(PlhProfileImage));
	PlhProfileBuilder builder;
	PlhProfileHeader *header;
	int64		passing;

	plh_profile_builder_begin(&builder);
	passing = add_unlisted(&builder, statistics, false);
	(void) add_unlisted(&builder, statistics, true);
	for (int i = 0; i < statistics->name_count; i++)
	{
		int64		bytes = add_name(&builder, statistics, i);

		if (!plh_lifetime_is_lasting(statistics->names[i].lifetime))
			passing += bytes;
	}
	header = plh_profile_builder_header(&builder);
	fill_header(header, statistics, passing, encoding);
	header->used_bytes = builder.used_bytes;
	plh_profile_image_adopt(image, header, builder.used_bytes);
	image->alive = true;
	return image;
}
