/*
 * pprof.c
 *	  Writes a list of sites as a profile that pprof reads.
 *
 * The output is one message of type Profile, as profile.proto defines it.
 * pprof accepts it without compression.
 *
 * A profile that may have a limited size is written until it is full.  If anything is
 * left, it is written anew with as many samples as there was room for: so that it has
 * no strings, functions and locations of samples that it does not have.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/clock.h"
#include "base/plural.h"
#include "base/settings.h"
#include "pprof/pprof.h"
#include "pprof/pprof_tables.h"
#include "pprof/protobuf.h"
#include "report/death_text.h"
#include "report/server_binary.h"

#define NANOS_PER_USEC 1000

/* What the name of a sample is that stands for those there is no room for. */
#define REST_NAME "[smaller sites]"

/* The most bytes that it takes, its comment included. */
#define REST_BYTES 512

/* What is written, and to where. */
typedef struct Writer
{
	StringInfo	output;
	const PlhPprofOptions *options;
	const PlhPprofSamples *samples;
	PlhPprofTables *tables;
} Writer;

static int64
string_number(Writer *writer, const char *text)
{
	return plh_pprof_tables_string(writer->tables, text);
}

/* Write a ValueType: what is counted, and its unit. */
static void
append_value_type(Writer *writer, int field, const char *type,
				  const char *unit)
{
	StringInfoData message;

	initStringInfo(&message);
	plh_protobuf_number(&message, VALUE_TYPE_TYPE,
						string_number(writer, type));
	plh_protobuf_number(&message, VALUE_TYPE_UNIT,
						string_number(writer, unit));
	plh_protobuf_message(writer->output, field, &message);
}

/* Append the values that are asked for, zeros included. */
static void
append_values(const Writer *writer, StringInfo sample, const int64 *values)
{
	for (int i = 0; i < PLH_PPROF_VALUES; i++)
	{
		if (writer->options->types & plh_pprof_value_types[i].type)
			plh_protobuf_element(sample, SAMPLE_VALUE, values[i]);
	}
}

/* Write a sample. */
static void
append_sample(Writer *writer, const PlhPprofSample *sample)
{
	const PlhPprofStack *stack = sample->key.stack;
	StringInfoData message;
	StringInfoData inner;

	initStringInfo(&message);
	initStringInfo(&inner);
	for (int i = 0; i < stack->depth; i++)
		plh_protobuf_element(&message, SAMPLE_LOCATION,
							 plh_pprof_tables_location(writer->tables, stack->locations[i]));
	append_values(writer, &message, sample->values);
	for (PlhPprofLabel label = 0; label < PLH_PPROF_LABELS; label++)
	{
		if (sample->key.labels[label] == NULL)
			continue;
		plh_protobuf_number(&inner, LABEL_KEY,
							string_number(writer, plh_pprof_samples_label_name(label)));
		plh_protobuf_number(&inner, LABEL_TEXT,
							string_number(writer, sample->key.labels[label]));
		plh_protobuf_message(&message, SAMPLE_LABEL, &inner);
	}
	plh_protobuf_message(writer->output, PROFILE_SAMPLE, &message);
}

/* Write a sample without labels, of that name only. */
static void
append_named(Writer *writer, const char *name, const int64 *values)
{
	PlhFrameText frame = {.text = name};
	PlhPprofLocation location = {.frames = &frame,.frame_count = 1};
	StringInfoData message;

	initStringInfo(&message);
	plh_protobuf_element(&message, SAMPLE_LOCATION,
						 plh_pprof_tables_add_location(writer->tables,
													   &location));
	append_values(writer, &message, values);
	plh_protobuf_message(writer->output, PROFILE_SAMPLE, &message);
}

/*
 * Write the sample that stands for those from the given one on.  Its name is always
 * the same, as a name with a number in it would be another one each time.
 */
static void
append_rest(Writer *writer, int first)
{
	const PlhPprofSamples *samples = writer->samples;
	int64		values[PLH_PPROF_VALUES] = {0};

	if (first == samples->count)
		return;
	for (int i = first; i < samples->count; i++)
		for (int j = 0; j < PLH_PPROF_VALUES; j++)
			values[j] += samples->samples[i]->values[j];
	if (plh_pprof_samples_have_value(values))
		append_named(writer, REST_NAME, values);
	plh_pprof_tables_comment(writer->tables,
							 samples->count - first == 1 ?
							 psprintf("pg_leakhunt: %s is the smallest of %d %s",
									  REST_NAME, samples->count,
									  plh_plural(samples->count, "sample", "samples")) :
							 psprintf("pg_leakhunt: %s are the %d smallest of %d samples",
									  REST_NAME, samples->count - first, samples->count));
}

/* Write the types of the values that each sample has. */
static void
append_types(Writer *writer)
{
	int			types = writer->options->types;
	PlhPprofValue first = plh_pprof_samples_first_value(types);

	for (int i = 0; i < PLH_PPROF_VALUES; i++)
	{
		const PlhPprofValueType *value = &plh_pprof_value_types[i];

		if (types & value->type)
			append_value_type(writer, PROFILE_SAMPLE_TYPE, value->name,
							  value->unit);
	}
	plh_protobuf_number(writer->output, PROFILE_DEFAULT_SAMPLE_TYPE,
						string_number(writer, plh_pprof_value_types[first].name));
}

/*
 * Write the interval, which is part of a profile's type to those who store it, and so
 * is always there: of processes that differ the longest, and of those that are not
 * sampled now that of the settings.
 */
static void
append_period(Writer *writer, const PlhSiteList *list)
{
	int64		interval = list->merged != NULL ?
		list->merged->most_interval : list->image->header->sample_interval;

	append_value_type(writer, PROFILE_PERIOD_TYPE, "space", "bytes");
	plh_protobuf_number(writer->output, PROFILE_PERIOD,
						interval > 0 ? interval : plh_sample_interval);
}

/*
 * Write when the figures were true, and for growth, since when it is counted.  What is
 * held at one time has no duration: stores would take it for a part of a sum.
 */
static void
append_times(Writer *writer, const PlhSiteList *list)
{
	int64		duration_us = list->since != 0 ? list->at - list->since : 0;

	plh_protobuf_number(writer->output, PROFILE_TIME_NANOS,
						(list->at + PLH_UNIX_EPOCH_US) * NANOS_PER_USEC);
	if (duration_us > 0 && duration_us < PG_INT64_MAX / NANOS_PER_USEC)
		plh_protobuf_number(writer->output, PROFILE_DURATION_NANOS,
							duration_us * NANOS_PER_USEC);
}

/* What the figures are, if they are not simply live. */
static const char *
figures_text(const Writer *writer, const PlhSiteList *list)
{
	if (list->growth)
		return ", growth";
	if (writer->options->types != PLH_PPROF_PEAK)
		return "";
	if (list->merged != NULL)
		return ", at their peaks";
	if (list->image->header->peak_at == 0)
		return ", at its peak";
	return psprintf(", at its peak of %s",
					timestamptz_to_str(list->image->header->peak_at));
}

/* Write the facts about the processes, their time and their interval. */
static void
append_facts(Writer *writer, const PlhSiteList *list)
{
	const PlhProfileHeader *header = list->image->header;
	const char *crash = plh_death_text_of_crash(list->image);

	if (writer->options->helpers && writer->options->symbolize)
		plh_protobuf_number(writer->output, PROFILE_DROP_FRAMES,
							string_number(writer, plh_stack_text_wrappers_pattern()));
	append_times(writer, list);
	append_period(writer, list);
	plh_pprof_tables_comment(writer->tables, psprintf("pg_leakhunt: %s, PostgreSQL %u.%u, %s%s",
													  plh_site_list_title(list), header->pg_version / 10000,
													  header->pg_version % 10000,
													  plh_site_list_interval(list),
													  figures_text(writer, list)));
	if (crash != NULL)
		plh_pprof_tables_comment(writer->tables, crash);
}

/*
 * Let the server be the first mapping, which readers take for the program, even if no
 * stack has it.
 */
static void
add_server(PlhPprofTables *tables, const PlhProfileImage *image)
{
	uint64		text_start;
	const PlhModuleRecord *server = plh_server_binary_find(image, &text_start);

	if (server != NULL)
		(void) plh_pprof_tables_mapping(tables, server, text_start);
}

/* Begin to write, in the current memory context. */
static void
begin_writing(Writer *writer, StringInfo output, const PlhSiteList *list,
			  const PlhPprofSamples *samples, const PlhPprofOptions *options)
{
	writer->output = output;
	writer->options = options;
	writer->samples = samples;
	writer->tables = plh_pprof_tables_begin(output, samples,
											!options->symbolize);
	append_types(writer);
	append_facts(writer, list);
	add_server(writer->tables, list->image);
}

/*
 * Write the first "count" samples, and one for all others.  Returns how many there was
 * room for, which is fewer if the profile has become too large.
 */
static int
write_profile(StringInfo output, const PlhSiteList *list,
			  const PlhPprofSamples *samples, int count,
			  const PlhPprofOptions *options)
{
	int			start = output->len;
	MemoryContext caller_context = CurrentMemoryContext;
	MemoryContext sample_context =
		AllocSetContextCreate(CurrentMemoryContext, "pg_leakhunt pprof sample",
							  ALLOCSET_DEFAULT_SIZES);
	Writer		writer;

	begin_writing(&writer, output, list, samples, options);
	MemoryContextSwitchTo(sample_context);
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(sample_context);
		append_sample(&writer, samples->samples[i]);
		if (options->max_bytes > 0 &&
			output->len - start + REST_BYTES +
			plh_pprof_tables_mapping_bytes(writer.tables) > options->max_bytes)
			count = i;
	}
	append_rest(&writer, count);
	plh_pprof_tables_end(writer.tables);
	MemoryContextSwitchTo(caller_context);
	MemoryContextDelete(sample_context);
	return count;
}

/*
 * Append the profile of a list.  Values of growth may be negative, as they are
 * in differences that pprof makes itself.
 */
void
plh_pprof_append(StringInfo output, const PlhSiteList *list,
				 const PlhPprofOptions *options)
{
	const PlhPprofSamples *samples = plh_pprof_samples_make(list, options);
	int			start = output->len;
	int			count = samples->count;
	int			written;

	if (options->max_samples > 0 && count > options->max_samples)
		count = options->max_samples - 1;
	written = write_profile(output, list, samples, count, options);
	if (written == count)
		return;
	output->len = start;
	(void) write_profile(output, list, samples, written, options);
	Assert(output->len - start <= options->max_bytes);
}
