/*
 * pprof_tables.c
 *	  The strings, mappings, functions and locations of a profile for pprof, which
 *	  samples refer to by number.
 */
#include "postgres.h"

#include "pprof/pprof_tables.h"
#include "pprof/protobuf.h"
#include "reader/collections.h"
#include "reader/database_text.h"
#include "report/text_numbers.h"
#include "report/words.h"

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

struct PlhPprofTables
{
	StringInfo	output;
	bool		with_places;
	PlhTextNumbers *strings;
	PlhTextNumbers *functions;
	PlhTextNumbers *mapping_numbers;
	Mapping    *mappings;
	int			mapping_count;
	int			mapping_room;
	const PlhPprofLocation *locations;	/* the samples' */
	uint32	   *location_numbers;	/* by index; 0: not written yet */
	uint32		location_count; /* of those that are written */
};

/*
 * Begin to write, in the current memory context.
 */
PlhPprofTables *
plh_pprof_tables_begin(StringInfo output, const PlhPprofSamples *samples,
					   bool with_places)
{
	PlhPprofTables *tables = palloc0(sizeof(PlhPprofTables));

	tables->output = output;
	tables->with_places = with_places;
	tables->strings = plh_text_numbers_make();
	tables->functions = plh_text_numbers_make();
	tables->mapping_numbers = plh_text_numbers_make();
	tables->mapping_room = 16;
	tables->mappings = palloc(sizeof(Mapping) * tables->mapping_room);
	tables->locations = samples->locations;
	tables->location_numbers =
		palloc_extended(sizeof(uint32) * (samples->location_count + 1),
						MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	/* the format wants the empty string to be number 0 */
	(void) plh_pprof_tables_string(tables, "");
	Assert(plh_pprof_tables_string(tables, "") == 0);
	return tables;
}

/*
 * Get the number of a string, and write the string when it is first met.
 */
int64
plh_pprof_tables_string(PlhPprofTables *tables, const char *text)
{
	bool		is_new;
	char	   *utf8 = plh_database_text_to_utf8(text);
	int64		number = plh_text_numbers_add(tables->strings, utf8,
											  &is_new)->number;

	if (is_new)
		plh_protobuf_text(tables->output, PROFILE_STRING, utf8);
	return number;
}

/*
 * Write a comment.
 */
void
plh_pprof_tables_comment(PlhPprofTables *tables, const char *comment)
{
	plh_protobuf_element(tables->output, PROFILE_COMMENT,
						 plh_pprof_tables_string(tables, comment));
}

/*
 * Write where a module's code is in its file, for stores that look up symbols: each
 * mapping has such a comment, in their order.
 */
static void
append_executable_info(PlhPprofTables *tables, const PlhModuleRecord *module)
{
	plh_pprof_tables_comment(tables,
							 psprintf("executableInfo=0x%x;0x%llx;0x%llx", ELF_TYPE_DYN,
									  (unsigned long long) module->text_file_offset,
									  (unsigned long long) module->text_address));
}

/* Begin a mapping; its message is written at the end. */
static void
add_mapping(PlhPprofTables *tables, const PlhModuleRecord *module, const char *path,
			uint64 text_start)
{
	Mapping    *mapping;

	tables->mappings = plh_array_grow(tables->mappings, tables->mapping_count,
									  &tables->mapping_room, sizeof(Mapping));
	mapping = &tables->mappings[tables->mapping_count++];
	memset(mapping, 0, sizeof(*mapping));
	mapping->module = module;
	mapping->text_start = text_start;
	mapping->path = plh_pprof_tables_string(tables, path);
	mapping->build_id = plh_pprof_tables_string(tables, plh_words_build_id(module));
	if (tables->with_places)
		append_executable_info(tables, module);
}

/*
 * Get the number of a module's mapping, which begins when it is first met.
 */
int64
plh_pprof_tables_mapping(PlhPprofTables *tables,
						 const PlhModuleRecord *module, uint64 text_start)
{
	const char *path = plh_database_text_fit(module->path);
	bool		is_new;
	int64		number =
		plh_text_numbers_add(tables->mapping_numbers,
							 psprintf("%llx %s", (unsigned long long) text_start,
									  path),
							 &is_new)->number;

	if (is_new)
		add_mapping(tables, module, path, text_start);
	return number + 1;
}

/* Write a mapping. */
static void
append_mapping(PlhPprofTables *tables, const Mapping *mapping, int64 number)
{
	StringInfoData message;

	initStringInfo(&message);
	plh_protobuf_number(&message, MAPPING_ID, number);
	plh_protobuf_number(&message, MAPPING_START, mapping->text_start);
	plh_protobuf_number(&message, MAPPING_LIMIT,
						mapping->text_start + mapping->module->text_bytes);
	plh_protobuf_number(&message, MAPPING_OFFSET,
						mapping->module->text_file_offset);
	plh_protobuf_number(&message, MAPPING_FILE, mapping->path);
	plh_protobuf_number(&message, MAPPING_BUILD_ID, mapping->build_id);
	plh_protobuf_number(&message, MAPPING_HAS_FUNCTIONS,
						mapping->has_functions);
	plh_protobuf_number(&message, MAPPING_HAS_FILENAMES,
						mapping->has_filenames);
	plh_protobuf_number(&message, MAPPING_HAS_LINES, mapping->has_lines);

	/* debug information that tells lines also tells what is inlined */
	plh_protobuf_number(&message, MAPPING_HAS_INLINED, mapping->has_lines);
	Assert(message.len <= MAPPING_BYTES - 3);
	plh_protobuf_message(tables->output, PROFILE_MAPPING, &message);
}

/* Get the number of a frame's function, and write it when it is first met. */
static int64
function_number(PlhPprofTables *tables, const PlhFrameText *frame)
{
	const char *name = plh_stack_text_function_name(frame);
	const char *file = frame->file != NULL ? frame->file : "";
	bool		is_new;
	int64		number = 1 +
		plh_text_numbers_add(tables->functions, psprintf("%s\n%s", name, file),
							 &is_new)->number;
	StringInfoData message;

	if (!is_new)
		return number;
	initStringInfo(&message);
	plh_protobuf_number(&message, FUNCTION_ID, number);
	plh_protobuf_number(&message, FUNCTION_NAME, plh_pprof_tables_string(tables, name));
	plh_protobuf_number(&message, FUNCTION_SYSTEM_NAME,
						plh_pprof_tables_string(tables, name));
	plh_protobuf_number(&message, FUNCTION_FILE, plh_pprof_tables_string(tables, file));
	plh_protobuf_message(tables->output, PROFILE_FUNCTION, &message);
	return number;
}

/*
 * Note what a location knows.  Where not even one function is known, a reader may
 * look for symbols itself; where some are, it would only guess at the others.
 */
static void
note_names(Mapping *mapping, const PlhPprofLocation *location)
{
	for (int i = 0; i < location->frame_count; i++)
	{
		const PlhFrameText *frame = &location->frames[i];

		mapping->has_functions = mapping->has_functions ||
			frame->function != NULL;
		mapping->has_filenames = mapping->has_filenames || frame->file != NULL;
		mapping->has_lines = mapping->has_lines || frame->line > 0;
	}
}

/*
 * Write a location, an address and the functions that it is in, and get its number.
 */
uint32
plh_pprof_tables_add_location(PlhPprofTables *tables,
							  const PlhPprofLocation *location)
{
	uint32		number = ++tables->location_count;
	StringInfoData message;
	StringInfoData line;

	initStringInfo(&message);
	initStringInfo(&line);
	plh_protobuf_number(&message, LOCATION_ID, number);
	if (location->module != NULL)
	{
		int64		mapping = plh_pprof_tables_mapping(tables, location->module,
													   location->text_start);

		note_names(&tables->mappings[mapping - 1], location);
		plh_protobuf_number(&message, LOCATION_MAPPING, mapping);
	}
	plh_protobuf_number(&message, LOCATION_ADDRESS, location->address);
	for (int i = 0; i < location->frame_count; i++)
	{
		plh_protobuf_number(&line, LINE_FUNCTION,
							function_number(tables, &location->frames[i]));
		plh_protobuf_number(&line, LINE_NUMBER, location->frames[i].line);
		plh_protobuf_message(&message, LOCATION_LINE, &line);
	}
	plh_protobuf_message(tables->output, PROFILE_LOCATION, &message);
	return number;
}

/*
 * Get the number of a sample's location, and write it when it is first met.
 */
uint32
plh_pprof_tables_location(PlhPprofTables *tables, uint32 index)
{
	if (tables->location_numbers[index] == 0)
		tables->location_numbers[index] =
			plh_pprof_tables_add_location(tables, &tables->locations[index]);
	return tables->location_numbers[index];
}

/*
 * The bytes that mappings will take.
 */
int
plh_pprof_tables_mapping_bytes(const PlhPprofTables *tables)
{
	return tables->mapping_count * MAPPING_BYTES;
}

/*
 * Write the mappings.
 */
void
plh_pprof_tables_end(PlhPprofTables *tables)
{
	for (int i = 0; i < tables->mapping_count; i++)
		append_mapping(tables, &tables->mappings[i], i + 1);
}
