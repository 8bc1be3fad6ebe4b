/*
 * pprof.c
 *	  Writes a list of sites as a profile that pprof reads.
 *
 * The output is one message of type Profile, as profile.proto defines it.
 * pprof accepts it without compression.
 *
 * A location is an address with the functions that it is in.  Addresses are
 * the made-up ones of dumps, which are the same for the same module
 * everywhere, so that pprof can compare profiles of different processes.
 *
 * Strings, mappings, functions and locations are written when they are first
 * met, before the message that refers to them, and are numbered in that order.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/clock.h"
#include "dump/dump_addresses.h"
#include "dump/dump_format.h"
#include "profile/profile_image.h"
#include "reader/database_text.h"
#include "report/build_id_text.h"
#include "report/death_text.h"
#include "report/listed_site.h"
#include "report/pprof.h"
#include "report/text_numbers.h"

/* The numbers of fields in profile.proto, an enum for each message. */
enum
{
	PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION,
	PROFILE_FUNCTION, PROFILE_STRING, PROFILE_DROP_FRAMES,
	PROFILE_TIME_NANOS = 9, PROFILE_DURATION_NANOS, PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD, PROFILE_COMMENT, PROFILE_DEFAULT_SAMPLE_TYPE
};
enum
{
	VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT
};
enum
{
	SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL
};
enum
{
	LABEL_KEY = 1, LABEL_TEXT, LABEL_NUMBER, LABEL_UNIT
};
enum
{
	MAPPING_ID = 1, MAPPING_START, MAPPING_LIMIT, MAPPING_OFFSET,
	MAPPING_FILE, MAPPING_BUILD_ID, MAPPING_HAS_FUNCTIONS,
	MAPPING_HAS_FILENAMES, MAPPING_HAS_LINES, MAPPING_HAS_INLINED
};
enum
{
	LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE
};
enum
{
	LINE_FUNCTION = 1, LINE_NUMBER
};
enum
{
	FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE
};

/* The tag of a field has its number and how its value is encoded. */
#define WIRE_VARINT 0
#define WIRE_BYTES 2
#define TAG(field, wire_type) ((field) << 3 | (wire_type))

#define NANOS_PER_USEC 1000

/*
 * The state of writing.  All memory that is allocated for a sample is freed
 * when the sample is written, as there may be millions of frames.  Only the
 * output and these tables last.
 */
typedef struct Writer
{
	StringInfo	output;
	PlhPlacement *placement;	/* addresses of the image that was last met */
	PlhTextNumbers *strings;
	PlhTextNumbers *mappings;
	PlhTextNumbers *functions;
	PlhTextNumbers *locations;
} Writer;

/*
 * Get the number of a text, counted from "first"; is_new: it was not met
 * before.
 */
static int64
number_of(PlhTextNumbers *numbers, const char *text, int64 first, bool *is_new)
{
	return first + plh_text_numbers_add(numbers, text, is_new)->number;
}

/* Append a number in groups of 7 bits, the lowest first. */
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

/* Append a varint field; 0 is the default, and is omitted. */
static void
append_number(StringInfo message, int field, int64 value)
{
	if (value == 0)
		return;
	append_varint(message, TAG(field, WIRE_VARINT));
	append_varint(message, (uint64) value);
}

/* Append a field of bytes: a string or a message. */
static void
append_bytes(StringInfo message, int field, const char *bytes, int length)
{
	append_varint(message, TAG(field, WIRE_BYTES));
	append_varint(message, length);
	appendBinaryStringInfo(message, bytes, length);
}

/* Append a message as a field of another one, and empty its buffer. */
static void
append_message(StringInfo message, int field, StringInfo inner)
{
	append_bytes(message, field, inner->data, inner->len);
	resetStringInfo(inner);
}

/* Get the number of a string, and write the string when it is first met. */
static int64
string_number(Writer *writer, const char *text)
{
	bool		is_new;
	char	   *utf8 = plh_database_text_to_utf8(text);
	int64		number = number_of(writer->strings, utf8, 0, &is_new);

	if (is_new)
		append_bytes(writer->output, PROFILE_STRING, utf8, strlen(utf8));
	return number;
}

/* Write a ValueType: what is counted, and its unit. */
static void
append_value_type(Writer *writer, int field, const char *type,
				  const char *unit)
{
	StringInfoData message;

	initStringInfo(&message);
	append_number(&message, VALUE_TYPE_TYPE, string_number(writer, type));
	append_number(&message, VALUE_TYPE_UNIT, string_number(writer, unit));
	append_message(writer->output, field, &message);
}

/* Get the number of a module's mapping, and write it when it is first met. */
static int64
mapping_number(Writer *writer, const PlhModuleRecord *module)
{
	uint64		start = plh_dump_addresses_of(writer->placement,
											  PLH_FRAME(module->index,
														module->text_address));
	const char *path = plh_database_text_fit(module->path);
	bool		is_new;
	int64		number = number_of(writer->mappings,
								   psprintf("%llx %s", (unsigned long long) start,
											path), 1, &is_new);
	StringInfoData message;

	if (!is_new)
		return number;
	initStringInfo(&message);
	append_number(&message, MAPPING_ID, number);
	append_number(&message, MAPPING_START, start);
	append_number(&message, MAPPING_LIMIT, start + module->text_bytes);
	append_number(&message, MAPPING_OFFSET, module->text_file_offset);
	append_number(&message, MAPPING_FILE, string_number(writer, path));
	append_number(&message, MAPPING_BUILD_ID,
				  string_number(writer, plh_build_id_text(module)));
	/* pprof need not symbolize: a location names functions, or says why not */
	append_number(&message, MAPPING_HAS_FUNCTIONS, 1);
	append_number(&message, MAPPING_HAS_FILENAMES, 1);
	append_number(&message, MAPPING_HAS_LINES, 1);
	append_number(&message, MAPPING_HAS_INLINED, 1);
	append_message(writer->output, PROFILE_MAPPING, &message);
	return number;
}

/* Get the number of a frame's function, and write it when it is first met. */
static int64
function_number(Writer *writer, const PlhFrameText *frame)
{
	const char *name = plh_stack_text_function_name(frame);
	const char *file = frame->file != NULL ? frame->file : "";
	bool		is_new;
	int64		number = number_of(writer->functions,
								   psprintf("%s\n%s", name, file), 1, &is_new);
	StringInfoData message;

	if (!is_new)
		return number;
	initStringInfo(&message);
	append_number(&message, FUNCTION_ID, number);
	append_number(&message, FUNCTION_NAME, string_number(writer, name));
	append_number(&message, FUNCTION_SYSTEM_NAME, string_number(writer, name));
	append_number(&message, FUNCTION_FILE, string_number(writer, file));
	append_message(writer->output, PROFILE_FUNCTION, &message);
	return number;
}

/* Write a location: an address, and the functions that it is in. */
static void
append_location(Writer *writer, int64 number, const PlhModuleRecord *module,
				uint64 address, const PlhFrameText *frames, int frame_count)
{
	StringInfoData message;
	StringInfoData line;

	initStringInfo(&message);
	initStringInfo(&line);
	append_number(&message, LOCATION_ID, number);
	if (module != NULL)
		append_number(&message, LOCATION_MAPPING,
					  mapping_number(writer, module));
	append_number(&message, LOCATION_ADDRESS, address);
	for (int i = 0; i < frame_count; i++)
	{
		append_number(&line, LINE_FUNCTION,
					  function_number(writer, &frames[i]));
		append_number(&line, LINE_NUMBER, frames[i].line);
		append_message(&message, LOCATION_LINE, &line);
	}
	append_message(writer->output, PROFILE_LOCATION, &message);
}

/*
 * Append the number of a location to a sample, and write it when it is first
 * met.
 */
static void
append_address(Writer *writer, StringInfo sample, const PlhListedSite *listed,
			   const PlhFrameText *frames, int frame_count)
{
	const PlhModuleRecord *module = NULL;
	uint64		address = 0;
	bool		is_new;
	int64		number;

	if (listed->has_stack)
	{
		const PlhStackRecord *stack =
			listed->facts.stack;

		if (frames->address_index < stack->depth)
		{
			PlhFrame	frame = stack->frames[frames->address_index];

			module = plh_profile_image_module(listed->image,
											  PLH_FRAME_MODULE(frame));
			address = plh_dump_addresses_of(writer->placement, frame);
		}
	}
	number = number_of(writer->locations,
					   psprintf("%llx %s", (unsigned long long) address,
								frames->text), 1, &is_new);
	if (is_new)
		append_location(writer, number, module, address, frames, frame_count);
	append_number(sample, SAMPLE_LOCATION, number);
}

/*
 * Append the numbers of a site's locations to a sample, the innermost first.
 */
static void
append_stack(Writer *writer, StringInfo sample, const PlhListedSite *listed)
{
	int			count;

	if (writer->placement->image != listed->image)
		plh_dump_addresses_place(writer->placement, listed->image);
	for (int start = 0; start < listed->stack.frame_count; start += count)
	{
		const PlhFrameText *frames = &listed->stack.frames[start];

		/* a dump may call any frame inlined: only the address tells */
		CHECK_FOR_INTERRUPTS();
		for (count = 1; start + count < listed->stack.frame_count; count++)
		{
			if (frames[count].address_index != frames->address_index)
				break;
		}
		append_address(writer, sample, listed, frames, count);
	}
}

/* Append a label with a text to a sample, unless the text is NULL. */
static void
append_text_label(Writer *writer, StringInfo sample, const char *key,
				  const char *text)
{
	StringInfoData label;

	if (text == NULL)
		return;
	initStringInfo(&label);
	append_number(&label, LABEL_KEY, string_number(writer, key));
	append_number(&label, LABEL_TEXT, string_number(writer, text));
	append_message(sample, SAMPLE_LABEL, &label);
}

/* Append a label with a number to a sample. */
static void
append_number_label(Writer *writer, StringInfo sample, const char *key,
					int64 number, const char *unit)
{
	StringInfoData label;

	initStringInfo(&label);
	append_number(&label, LABEL_KEY, string_number(writer, key));
	append_number(&label, LABEL_NUMBER, number);
	append_number(&label, LABEL_UNIT, string_number(writer, unit));
	append_message(sample, SAMPLE_LABEL, &label);
}

/*
 * Append the values of a sample, in the order in which append_types declares
 * them.
 */
static void
append_values(StringInfo sample, const PlhListedSite *listed,
			  const PlhSiteList *list)
{
	int64		values[] = {
		listed->facts.counters->total_count, listed->facts.counters->total_bytes,
		plh_listed_site_count(listed), plh_listed_site_bytes(listed)
	};

	/* a repeated field: zeros must be written, too */
	for (int i = list->peak ? 3 : list->growth ? 2 : 0; i < lengthof(values); i++)
	{
		append_varint(sample, TAG(SAMPLE_VALUE, WIRE_VARINT));
		append_varint(sample, (uint64) values[i]);
	}
}

/*
 * Write the sample of a site.  One that several processes share has no pid, and no
 * type if theirs differ.
 */
static void
append_sample(Writer *writer, const PlhSiteList *list,
			  const PlhListedSite *listed)
{
	StringInfoData sample;

	initStringInfo(&sample);
	append_stack(writer, &sample, listed);
	append_values(&sample, listed, list);
	append_text_label(writer, &sample, "memory_context", listed->context_name);
	append_text_label(writer, &sample, "lifetime", listed->lifetime);
	if (listed->query_id != 0)
		append_text_label(writer, &sample, "query_id",
						  psprintf("%lld", (long long) listed->query_id));
	append_text_label(writer, &sample, "backend_type",
					  listed->backend_type);
	if (listed->pid != 0)
		append_number_label(writer, &sample, "pid", listed->pid, "");
	if (listed->count > 0)
		append_number_label(writer, &sample, "bytes",
							listed->bytes / listed->count, "bytes");
	append_message(writer->output, PROFILE_SAMPLE, &sample);
}

/* Write the types of the values that each sample has. */
static void
append_types(Writer *writer, const PlhSiteList *list)
{
	if (list->peak)
	{
		append_value_type(writer, PROFILE_SAMPLE_TYPE, "peak_space", "bytes");
		return;
	}
	if (!list->growth)
	{
		append_value_type(writer, PROFILE_SAMPLE_TYPE, "alloc_objects", "count");
		append_value_type(writer, PROFILE_SAMPLE_TYPE, "alloc_space", "bytes");
	}
	append_value_type(writer, PROFILE_SAMPLE_TYPE, "inuse_objects", "count");
	append_value_type(writer, PROFILE_SAMPLE_TYPE, "inuse_space", "bytes");
	append_number(writer->output, PROFILE_DEFAULT_SAMPLE_TYPE,
				  string_number(writer, "inuse_space"));
}

/* Write the facts about the processes, their time and their interval. */
static void
append_facts(Writer *writer, const PlhSiteList *list)
{
	const PlhProfileHeader *header = list->image->header;
	const char *comment =
		psprintf("pg_leakhunt: %s, PostgreSQL %u.%u, %s%s",
				 plh_site_list_title(list), header->pg_version / 10000,
				 header->pg_version % 10000,
				 plh_site_list_interval(list), list->growth ? ", growth" :
				 !list->peak ? "" : list->merged != NULL ? ", at their peaks" :
				 ", at its peak");
	const char *crash = plh_death_text_of_crash(list->image);

	append_number(writer->output, PROFILE_DROP_FRAMES,
				  string_number(writer, plh_stack_text_helpers_pattern()));
	append_number(writer->output, PROFILE_TIME_NANOS,
				  (list->at + PLH_UNIX_EPOCH_US) * NANOS_PER_USEC);
	append_number(writer->output, PROFILE_DURATION_NANOS,
				  (list->at - header->started_at) * NANOS_PER_USEC);
	if (header->sample_interval > 0)
	{
		append_value_type(writer, PROFILE_PERIOD_TYPE, "space", "bytes");
		append_number(writer->output, PROFILE_PERIOD, header->sample_interval);
	}
	append_number(writer->output, PROFILE_COMMENT,
				  string_number(writer, comment));
	if (crash != NULL)
		append_number(writer->output, PROFILE_COMMENT,
					  string_number(writer, crash));
}

/*
 * Append the profile of a list.  Values of growth may be negative, as they are
 * in differences that pprof makes itself.
 */
void
plh_pprof_append(StringInfo output, const PlhSiteList *list)
{
	Writer		writer = {
		.output = output,
		.placement = palloc0(sizeof(PlhPlacement)),
		.strings = plh_text_numbers_make(),
		.mappings = plh_text_numbers_make(),
		.functions = plh_text_numbers_make(),
		.locations = plh_text_numbers_make()
	};
	MemoryContext caller_context = CurrentMemoryContext;
	MemoryContext sample_context =
		AllocSetContextCreate(CurrentMemoryContext, "pg_leakhunt pprof sample",
							  ALLOCSET_DEFAULT_SIZES);

	MemoryContextSwitchTo(sample_context);
	/* the format wants the empty string to be number 0 */
	(void) string_number(&writer, "");
	Assert(string_number(&writer, "") == 0);
	append_types(&writer, list);
	append_facts(&writer, list);
	for (int i = 0; i < list->count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(sample_context);
		append_sample(&writer, list, &list->sites[i]);
	}
	MemoryContextSwitchTo(caller_context);
	MemoryContextDelete(sample_context);
}
