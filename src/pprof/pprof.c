/*
 * pprof.c
 *	  Writes a list of sites as a profile that pprof reads.
 *
 * The output is one message of type Profile, as profile.proto defines it, in the encoding of
 * protocol buffers.  pprof accepts it without compression.
 *
 * A profile that may have a limited size is written until it is full.  If anything is left, it is
 * written anew with as many samples as there was room for: so that it has no strings, functions and
 * locations of samples that it does not have.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/clock.h"
#include "base/plural.h"
#include "base/settings.h"
#include "pprof/pprof.h"
#include "reader/collections.h"
#include "reader/database_text.h"
#include "report/death_text.h"
#include "report/server_binary.h"
#include "report/text_numbers.h"
#include "report/words.h"

/* The tag of a field has its number and how its value is encoded. */
#define WIRE_VARINT 0
#define WIRE_BYTES 2
#define TAG(field, wire_type) ((field) << 3 | (wire_type))

/* The numbers of fields in profile.proto, from 1 on for each message. */
enum
{
	PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION,
	PROFILE_FUNCTION, PROFILE_STRING, PROFILE_DROP_FRAMES,
	PROFILE_TIME_NANOS = 9, PROFILE_DURATION_NANOS, PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD, PROFILE_COMMENT, PROFILE_DEFAULT_SAMPLE_TYPE,
	VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT,
	SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL,
	LABEL_KEY = 1, LABEL_TEXT,
	MAPPING_ID = 1, MAPPING_START, MAPPING_LIMIT, MAPPING_OFFSET,
	MAPPING_FILE, MAPPING_BUILD_ID, MAPPING_HAS_FUNCTIONS,
	MAPPING_HAS_FILENAMES, MAPPING_HAS_LINES, MAPPING_HAS_INLINED,
	LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE,
	LINE_FUNCTION = 1, LINE_NUMBER,
	FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE
};

/* The kind of an ELF file that may lie at any address: where we say they lie. */
#define ELF_TYPE_DYN 3

/* The most bytes that a mapping takes, without its strings. */
#define MAPPING_BYTES 96

/* A mapping that locations have referred to, and what is known of these. */
typedef struct Mapping
{
	const PlhModuleRecord *module;
	uint64		text_start;
	int64		path;			/* number of a string */
	int64		build_id;		/* number of a string */
	bool		has_functions;
	bool		has_filenames;
	bool		has_lines;
} Mapping;

#define NANOS_PER_USEC 1000

/* What the name of a sample is that stands for those there is no room for. */
#define REST_NAME "[smaller sites]"

/* The most bytes that it takes, its comment included. */
#define REST_BYTES 512

/*
 * What is written, and to where.
 *
 * Samples refer to strings, mappings, functions and locations by number.  Strings, functions and
 * locations are written when they are first met, before the message that refers to them, and are
 * numbered in that order.  So are mappings, but these are written at the end, when it is known what
 * they have.
 */
typedef struct Writer
{
	StringInfo	output;
	const PlhPprofOptions *options;
	const PlhPprofSamples *samples;
	PlhTextNumbers *strings;
	PlhTextNumbers *functions;
	PlhTextNumbers *mapping_numbers;
	Mapping    *mappings;
	int			mapping_count;
	int			mapping_room;
	uint32	   *location_numbers;	/* by index; 0: not written yet */
	uint32		location_count; /* of those that are written */
} Writer;

static void
append_varint(StringInfo message, uint64 value)
{
	while (value >= 0x80)
	{
		appendStringInfoChar(message, (char) (value | 0x80));
		value >>= 7;
	}
	appendStringInfoChar(message, (char) value);
}

/* Append a field of bytes: a text or a message. */
static void
append_bytes(StringInfo message, int field, const char *bytes, int length)
{
	append_varint(message, TAG(field, WIRE_BYTES));
	append_varint(message, length);
	appendBinaryStringInfo(message, bytes, length);
}

/* Append an element of a repeated field, which may be 0. */
static void
put_element(StringInfo message, int field, int64 value)
{
	append_varint(message, TAG(field, WIRE_VARINT));
	append_varint(message, (uint64) value);
}

/* Append a field with a number; 0 is the default, and is omitted. */
static void
put_number(StringInfo message, int field, int64 value)
{
	if (value != 0)
		put_element(message, field, value);
}

/* Append a message as a field of another one, and empty its buffer. */
static void
put_message(StringInfo message, int field, StringInfo inner)
{
	append_bytes(message, field, inner->data, inner->len);
	resetStringInfo(inner);
}

/* Get the number of a string, and write the string when it is first met. */
static int64
text_number(Writer *writer, const char *text)
{
	bool		is_new;
	char	   *utf8 = plh_database_text_to_utf8(text);
	int64		number = plh_text_numbers_add(writer->strings, utf8, &is_new)->number;

	if (is_new)
		append_bytes(writer->output, PROFILE_STRING, utf8, strlen(utf8));
	return number;
}

static void
append_comment(Writer *writer, const char *comment)
{
	put_element(writer->output, PROFILE_COMMENT, text_number(writer, comment));
}

/* Begin a mapping; its message is written at the end. */
static void
add_mapping(Writer *writer, const PlhModuleRecord *module, const char *path, uint64 text_start)
{
	Mapping    *mapping;

	writer->mappings = plh_array_grow(writer->mappings, writer->mapping_count,
									  &writer->mapping_room, sizeof(Mapping));
	mapping = &writer->mappings[writer->mapping_count++];
	memset(mapping, 0, sizeof(*mapping));
	mapping->module = module;
	mapping->text_start = text_start;
	mapping->path = text_number(writer, path);
	mapping->build_id = text_number(writer, plh_words_build_id(module));

	/*
	 * where its code is in its file, for stores that look up symbols: in the
	 * order of mappings
	 */
	if (!writer->options->symbolize)
		append_comment(writer, psprintf("executableInfo=0x%x;0x%llx;0x%llx", ELF_TYPE_DYN,
										(unsigned long long) module->text_file_offset,
										(unsigned long long) module->text_address));
}

/* Get the number of a module's mapping, which begins when it is first met. */
static int64
mapping_number(Writer *writer, const PlhModuleRecord *module, uint64 text_start)
{
	const char *path = plh_database_text_fit(module->path);
	bool		is_new;
	int64		number =
		plh_text_numbers_add(writer->mapping_numbers,
							 psprintf("%llx %s", (unsigned long long) text_start, path),
							 &is_new)->number;

	if (is_new)
		add_mapping(writer, module, path, text_start);
	return number + 1;
}

static void
append_mapping(Writer *writer, const Mapping *mapping, int64 number)
{
	StringInfoData message;

	initStringInfo(&message);
	put_number(&message, MAPPING_ID, number);
	put_number(&message, MAPPING_START, mapping->text_start);
	put_number(&message, MAPPING_LIMIT, mapping->text_start + mapping->module->text_bytes);
	put_number(&message, MAPPING_OFFSET, mapping->module->text_file_offset);
	put_number(&message, MAPPING_FILE, mapping->path);
	put_number(&message, MAPPING_BUILD_ID, mapping->build_id);
	put_number(&message, MAPPING_HAS_FUNCTIONS, mapping->has_functions);
	put_number(&message, MAPPING_HAS_FILENAMES, mapping->has_filenames);
	put_number(&message, MAPPING_HAS_LINES, mapping->has_lines);

	/* debug information that tells lines also tells what is inlined */
	put_number(&message, MAPPING_HAS_INLINED, mapping->has_lines);
	Assert(message.len <= MAPPING_BYTES - 3);
	put_message(writer->output, PROFILE_MAPPING, &message);
}

/* Get the number of a frame's function, and write it when it is first met. */
static int64
function_number(Writer *writer, const PlhFrameText *frame)
{
	const char *name = plh_stack_text_function_name(frame);
	const char *file = frame->file != NULL ? frame->file : "";
	bool		is_new;
	int64		number = 1 +
		plh_text_numbers_add(writer->functions, psprintf("%s\n%s", name, file), &is_new)->number;
	StringInfoData message;

	if (!is_new)
		return number;
	initStringInfo(&message);
	put_number(&message, FUNCTION_ID, number);
	put_number(&message, FUNCTION_NAME, text_number(writer, name));
	put_number(&message, FUNCTION_SYSTEM_NAME, text_number(writer, name));
	put_number(&message, FUNCTION_FILE, text_number(writer, file));
	put_message(writer->output, PROFILE_FUNCTION, &message);
	return number;
}

/*
 * Note what a location knows.  Where not even one function is known, a reader may look for symbols
 * itself; where some are, it would only guess at the others.
 */
static void
note_names(Mapping *mapping, const PlhPprofLocation *location)
{
	for (int i = 0; i < location->frame_count; i++)
	{
		const PlhFrameText *frame = &location->frames[i];

		mapping->has_functions = mapping->has_functions || frame->function != NULL;
		mapping->has_filenames = mapping->has_filenames || frame->file != NULL;
		mapping->has_lines = mapping->has_lines || frame->line > 0;
	}
}

/* Write a location, an address and the functions that it is in, and get its number. */
static uint32
add_location(Writer *writer, const PlhPprofLocation *location)
{
	uint32		number = ++writer->location_count;
	StringInfoData message;
	StringInfoData line;

	initStringInfo(&message);
	initStringInfo(&line);
	put_number(&message, LOCATION_ID, number);
	if (location->module != NULL)
	{
		int64		mapping = mapping_number(writer, location->module, location->text_start);

		note_names(&writer->mappings[mapping - 1], location);
		put_number(&message, LOCATION_MAPPING, mapping);
	}
	put_number(&message, LOCATION_ADDRESS, location->address);
	for (int i = 0; i < location->frame_count; i++)
	{
		put_number(&line, LINE_FUNCTION, function_number(writer, &location->frames[i]));
		put_number(&line, LINE_NUMBER, location->frames[i].line);
		put_message(&message, LOCATION_LINE, &line);
	}
	put_message(writer->output, PROFILE_LOCATION, &message);
	return number;
}

static void
append_value_type(Writer *writer, int field, const char *type, const char *unit)
{
	StringInfoData message;

	initStringInfo(&message);
	put_number(&message, VALUE_TYPE_TYPE, text_number(writer, type));
	put_number(&message, VALUE_TYPE_UNIT, text_number(writer, unit));
	put_message(writer->output, field, &message);
}

/* Append the values that are asked for, zeros included. */
static void
append_values(const Writer *writer, StringInfo sample, const int64 *values)
{
	for (int i = 0; i < PLH_PPROF_VALUES; i++)
		if (writer->options->types & plh_pprof_value_types[i].type)
			put_element(sample, SAMPLE_VALUE, values[i]);
}

static void
append_sample(Writer *writer, const PlhPprofSample *sample)
{
	const PlhPprofStack *stack = sample->key.stack;
	StringInfoData message;
	StringInfoData inner;

	initStringInfo(&message);
	initStringInfo(&inner);
	for (int i = 0; i < stack->depth; i++)
	{
		uint32		index = stack->locations[i];

		if (writer->location_numbers[index] == 0)
			writer->location_numbers[index] =
				add_location(writer, &writer->samples->locations[index]);
		put_element(&message, SAMPLE_LOCATION, writer->location_numbers[index]);
	}
	append_values(writer, &message, sample->values);
	for (PlhPprofLabel label = 0; label < PLH_PPROF_LABELS; label++)
	{
		if (sample->key.labels[label] == NULL)
			continue;
		put_number(&inner, LABEL_KEY, text_number(writer, plh_pprof_samples_label_name(label)));
		put_number(&inner, LABEL_TEXT, text_number(writer, sample->key.labels[label]));
		put_message(&message, SAMPLE_LABEL, &inner);
	}
	put_message(writer->output, PROFILE_SAMPLE, &message);
}

/* Write a sample without labels, of that name only. */
static void
append_named(Writer *writer, const char *name, const int64 *values)
{
	PlhFrameText frame = {.text = name};
	PlhPprofLocation location = {.frames = &frame,.frame_count = 1};
	StringInfoData message;

	initStringInfo(&message);
	put_element(&message, SAMPLE_LOCATION, add_location(writer, &location));
	append_values(writer, &message, values);
	put_message(writer->output, PROFILE_SAMPLE, &message);
}

/*
 * Write the sample that stands for those from the given one on.  Its name is always the same, as a
 * name with a number in it would be another one each time.
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
	append_comment(writer, samples->count - first == 1 ?
				   psprintf("pg_leakhunt: %s is the smallest of %d %s", REST_NAME, samples->count,
							plh_plural(samples->count, "sample", "samples")) :
				   psprintf("pg_leakhunt: %s are the %d smallest of %d samples",
							REST_NAME, samples->count - first, samples->count));
}

static void
append_types(Writer *writer)
{
	int			types = writer->options->types;
	PlhPprofValue first = plh_pprof_samples_first_value(types);

	for (int i = 0; i < PLH_PPROF_VALUES; i++)
	{
		const PlhPprofValueType *value = &plh_pprof_value_types[i];

		if (types & value->type)
			append_value_type(writer, PROFILE_SAMPLE_TYPE, value->name, value->unit);
	}
	put_number(writer->output, PROFILE_DEFAULT_SAMPLE_TYPE,
			   text_number(writer, plh_pprof_value_types[first].name));
}

/*
 * Write the interval, which is part of a profile's type to those who store it, and so is always
 * there: of processes that differ the longest, and of those that are not sampled now that of the
 * settings.
 */
static void
append_period(Writer *writer, const PlhSiteList *list)
{
	int64		interval = list->merged != NULL ?
		list->merged->most_interval : list->image->header->sample_interval;

	append_value_type(writer, PROFILE_PERIOD_TYPE, "space", "bytes");
	put_number(writer->output, PROFILE_PERIOD, interval > 0 ? interval : plh_sample_interval);
}

/*
 * Write when the figures were true, and for growth, since when it is counted.  What is held at one
 * time has no duration: stores would take it for a part of a sum.
 */
static void
append_times(Writer *writer, const PlhSiteList *list)
{
	int64		duration_us = list->since != 0 ? list->at - list->since : 0;

	put_number(writer->output, PROFILE_TIME_NANOS, (list->at + PLH_UNIX_EPOCH_US) * NANOS_PER_USEC);
	if (duration_us > 0 && duration_us < PG_INT64_MAX / NANOS_PER_USEC)
		put_number(writer->output, PROFILE_DURATION_NANOS, duration_us * NANOS_PER_USEC);
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
	return psprintf(", at its peak of %s", timestamptz_to_str(list->image->header->peak_at));
}

static void
append_facts(Writer *writer, const PlhSiteList *list)
{
	const PlhProfileHeader *header = list->image->header;
	const char *crash = plh_death_text_of_crash(list->image);

	if (writer->options->helpers && writer->options->symbolize)
		put_number(writer->output, PROFILE_DROP_FRAMES,
				   text_number(writer, plh_stack_text_wrappers_pattern()));
	append_times(writer, list);
	append_period(writer, list);
	append_comment(writer, psprintf("pg_leakhunt: %s, PostgreSQL %u.%u, %s%s",
									plh_site_list_title(list), header->pg_version / 10000,
									header->pg_version % 10000,
									plh_site_list_interval(list),
									figures_text(writer, list)));
	if (crash != NULL)
		append_comment(writer, crash);
}

static void
begin_writing(Writer *writer, StringInfo output, const PlhSiteList *list,
			  const PlhPprofSamples *samples, const PlhPprofOptions *options)
{
	const PlhModuleRecord *server;
	uint64		text_start;

	memset(writer, 0, sizeof(*writer));
	writer->output = output;
	writer->options = options;
	writer->samples = samples;
	writer->strings = plh_text_numbers_make();
	writer->functions = plh_text_numbers_make();
	writer->mapping_numbers = plh_text_numbers_make();
	writer->mapping_room = 16;
	writer->mappings = palloc(sizeof(Mapping) * writer->mapping_room);
	writer->location_numbers =
		palloc_extended(sizeof(uint32) * (samples->location_count + 1),
						MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	/* the format wants the empty string to be number 0 */
	(void) text_number(writer, "");
	Assert(text_number(writer, "") == 0);
	append_types(writer);
	append_facts(writer, list);

	/*
	 * readers take the first mapping for the program: the server, even if no
	 * stack has it
	 */
	server = plh_server_binary_find(list->image, &text_start);
	if (server != NULL)
		(void) mapping_number(writer, server, text_start);
}

/*
 * Write the first "count" samples, and one for all others.  Returns how many there was room for,
 * which is fewer if the profile has become too large.
 */
static int
write_profile(StringInfo output, const PlhSiteList *list, const PlhPprofSamples *samples, int count,
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
			output->len - start + REST_BYTES + writer.mapping_count * MAPPING_BYTES >
			options->max_bytes)
			count = i;
	}
	append_rest(&writer, count);
	for (int i = 0; i < writer.mapping_count; i++)
		append_mapping(&writer, &writer.mappings[i], i + 1);
	MemoryContextSwitchTo(caller_context);
	MemoryContextDelete(sample_context);
	return count;
}

void
plh_pprof_append(StringInfo output, const PlhSiteList *list, const PlhPprofOptions *options)
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
