/*
 * dump_reader.c
 *	  Turns a dump into an image again, so that every report of a profile is
 *	  one of a dump, too.
 *
 * The lines are parsed in their order, and each adds a record to the image.
 * src/README, "Dump files", describes every line; dump_writer.c writes them.
 * The sums of the sites must be those of line 1: a dump that lacks lines is
 * not taken for a smaller process.
 */
#include "postgres.h"

#include "common/int.h"
#include "utils/memutils.h"

#include "base/limits.h"
#include "base/settings.h"
#include "dump/dump_format.h"
#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "reader/baseline_file.h"
#include "reader/dump_lines.h"
#include "reader/dump_reader.h"
#include "reader/profile_builder.h"
#include "reader/symbol_table.h"

/* The state of reading one dump. */
typedef struct Parser
{
	PlhDumpLines *lines;
	PlhProfileBuilder profile;
	uint32		module_count;
	uint64		module_bases[PLH_IMAGE_MODULES];

	/* sums of the sites, as line 1 has them and as they were added up */
	int64		expected[PLH_LINE_FIGURES];
	int64		sums[PLH_LINE_FIGURES];
	int64		baseline_sum;
	uint32		site_count;
	bool		has_baseline;
} Parser;

/* Add to a sum; an overflow means that the dump is damaged. */
static void
add_figure(const Parser *parser, int64 *sum, int64 figure)
{
	if (pg_add_s64_overflow(*sum, figure, sum))
		plh_dump_lines_damaged(parser->lines, "The sums become too large.");
}

/* Parse line 1, which has the sums of all sites. */
static void
parse_first_line(Parser *parser)
{
	const char *start = "heap profile: ";
	const char *rest;

	plh_dump_lines_need(parser->lines, start);
	rest = plh_dump_lines_figures(parser->lines->line + strlen(start),
								  parser->expected);
	if (rest == NULL || strcmp(rest, "heapprofile") != 0)
		plh_dump_lines_damaged(parser->lines, "It is not that of a heap profile.");
}

/* Throw an ERROR unless the dump has the version that we read. */
static void
check_version(const PlhDumpLines *lines, const char *name)
{
	if (plh_dump_lines_int64(lines, name) != PLH_DUMP_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("dump file \"%s\" has another version", lines->path),
				 errdetail("This version of pg_leakhunt reads version %d.",
						   PLH_DUMP_VERSION)));
}

/* Read a field whose value is the name of a scope. */
static uint32
parse_scope(const PlhDumpLines *lines, const char *name)
{
	char	   *word = plh_dump_lines_text(lines, name);
	uint32		scope = 0;

	while (strcmp(plh_settings_scope_name(scope), word) != 0)
	{
		if (++scope > PLH_SCOPE_ALL)
			plh_dump_lines_damaged(lines, "There is no scope \"%s\".", word);
	}
	return scope;
}

/* Parse one of the fields about the process, which is in the current line. */
static void
parse_field(const Parser *parser, const PlhDumpField *field, PlhDump *dump)
{
	const PlhDumpLines *lines = parser->lines;
	const char *name = field->name;
	void	   *value = (char *) plh_profile_builder_header(&parser->profile) +
		field->offset;

	switch (field->kind)
	{
		case PLH_FIELD_VERSION:
			check_version(lines, name);
			break;
		case PLH_FIELD_REASON:
			dump->reason = plh_dump_lines_text(lines, name);
			break;
		case PLH_FIELD_WRITTEN_AT:
			dump->written_at = plh_dump_lines_time(lines, name);
			break;
		case PLH_FIELD_BACKEND_TYPE:
			strlcpy(value, plh_dump_lines_text(lines, name), PLH_LABEL_MAX);
			break;
		case PLH_FIELD_SCOPE:
			*(uint32 *) value = parse_scope(lines, name);
			break;
		case PLH_FIELD_PID:
			*(int32 *) value = plh_dump_lines_number(lines, name, 1, PG_INT32_MAX);
			break;
		case PLH_FIELD_INT32:
			*(int32 *) value = plh_dump_lines_number(lines, name, 0, PG_INT32_MAX);
			break;
		case PLH_FIELD_UINT32:
			*(uint32 *) value = plh_dump_lines_uint32(lines, name);
			break;
		case PLH_FIELD_COUNT:
			*(int64 *) value = plh_dump_lines_count(lines, name);
			break;
		case PLH_FIELD_TIME:
			*(TimestampTz *) value = plh_dump_lines_time(lines, name);
			break;
	}
}

/* Parse the lines about the process. */
static void
parse_header(Parser *parser, PlhDump *dump)
{
	for (const PlhDumpField *field = plh_dump_format_process;
		 field->name != NULL; field++)
	{
		if (field->line_start != NULL)
			plh_dump_lines_need(parser->lines, psprintf("%s %s=", field->line_start,
														field->name));
		parse_field(parser, field, dump);
	}
}

/* Parse the line of a module, and add its record. */
static void
parse_module(Parser *parser)
{
	PlhDumpLines *lines = parser->lines;
	uint32		index = parser->module_count + 1;
	PlhModuleRecord *module;
	uint32		offset;
	char	   *path;

	plh_dump_lines_need(lines, "# module base=");
	path = plh_dump_lines_text(lines, "path");
	if (index >= PLH_IMAGE_MODULES || strlen(path) >= MAXPGPATH)
		plh_dump_lines_damaged(lines,
							   "There are too many modules, or the path is too long.");
	parser->module_bases[index] = plh_dump_lines_int64(lines, "base");
	offset = plh_profile_builder_add(&parser->profile, PLH_RECORD_MODULE,
									 offsetof(PlhModuleRecord, path) +
									 strlen(path) + 1);
	module = plh_profile_builder_record(&parser->profile, offset);
	module->index = index;
	module->build_id_bytes = plh_dump_lines_bytes(lines, "build_id",
												  module->build_id,
												  PLH_BUILD_ID_MAX);
	module->text_address = plh_dump_lines_int64(lines, "text_address");
	module->text_bytes = plh_dump_lines_int64(lines, "text_bytes");
	module->text_file_offset = plh_dump_lines_int64(lines, "file_offset");
	module->seen_at = plh_dump_lines_time(lines, "seen_at_us");
	module->path_bytes = strlen(path);
	strcpy(module->path, path);
	parser->module_count++;
}

/* Turn an address of the dump into a frame: a module, and an address in it. */
static PlhFrame
frame_of_address(const Parser *parser, uint64 address)
{
	for (uint32 i = 1; i <= parser->module_count; i++)
	{
		if (address >= parser->module_bases[i] &&
			address - parser->module_bases[i] < (UINT64CONST(1) << PLH_SLOT_BITS))
			return PLH_FRAME(i, address - parser->module_bases[i]);
	}
	return PLH_FRAME(0, address);
}

/* Parse the current line, which names a function that an address is in. */
static void
parse_symbol(Parser *parser, PlhSymbolTable *table)
{
	PlhDumpLines *lines = parser->lines;
	PlhSourceFrame source = {0};

	source.function = plh_dump_lines_text(lines, "function");
	source.file = plh_dump_lines_get_text(lines, "file");
	source.line = plh_dump_lines_number(lines, "line", 0, PG_INT32_MAX);
	source.inlined = plh_dump_lines_number(lines, "inlined", 0, 1);
	plh_symbol_table_add(table,
						 frame_of_address(parser,
										  plh_dump_lines_int64(lines, "address")),
						 &source);
}

/* Read the lifetime in the current line. */
static uint32
parse_lifetime(const Parser *parser)
{
	char	   *name = plh_dump_lines_text(parser->lines, "lifetime");
	uint32		lifetime = PLH_LIFETIME_SESSION;

	while (strcmp(plh_profile_image_lifetime_name(lifetime), name) != 0)
	{
		if (++lifetime > PLH_LIFETIME_ERROR)
			plh_dump_lines_damaged(parser->lines, "There is no lifetime \"%s\".", name);
	}
	return lifetime;
}

/*
 * Add the statement in the current line.  Returns the offset of its record, 0
 * if the site has no statement.
 */
static uint32
parse_statement(Parser *parser)
{
	PlhDumpLines *lines = parser->lines;
	char	   *text = plh_dump_lines_get_text(lines, "query");
	bool		has_id = plh_dump_lines_get_text(lines, "query_id") != NULL;

	if (text == NULL && !has_id)
		return 0;
	return plh_profile_builder_add_statement(&parser->profile, has_id ?
											 plh_dump_lines_int64(lines, "query_id") : 0,
											 text != NULL ? text : "");
}

/*
 * Parse the facts about a site, in the current line; the next has its stack.
 */
static void
parse_site_facts(Parser *parser, PlhSiteRecord *site)
{
	PlhDumpLines *lines = parser->lines;
	char	   *context = plh_dump_lines_get_text(lines, "context");
	PlhCounters *counters = &site->counters;

	if (context != NULL)
	{
		site->key.context_name =
			plh_profile_builder_add_string(&parser->profile, context);
		site->key.lifetime = parse_lifetime(parser);
	}
	site->key.statement = parse_statement(parser);
	counters->live_count = plh_dump_lines_count(lines, "live_count");
	counters->total_count = plh_dump_lines_count(lines, "total_count");
	counters->live_samples = plh_dump_lines_count(lines, "samples");
	counters->total_samples = plh_dump_lines_number(lines, "total_samples", 1,
													PG_INT64_MAX);
	counters->live_variance = plh_dump_lines_real(lines, "variance");
	counters->first_at = plh_dump_lines_time(lines, "first_at_us");
	counters->last_at = plh_dump_lines_time(lines, "last_at_us");
	site->peak_bytes = plh_dump_lines_count(lines, "peak_bytes");

	/* a site that has changed since the peak shows its own peak_bytes */
	site->last_change = 1;
}

/*
 * Parse the addresses of a stack, and add its record.  Returns the offset of
 * the record, 0 if the site has no stack.
 */
static uint32
parse_stack(Parser *parser, const char *addresses, bool truncated)
{
	PlhFrame	frames[PLH_MAX_FRAMES];
	uint32		depth = 0;

	while (*addresses != '\0')
	{
		char	   *end;
		uint64		address = strtoull(addresses, &end, 16);

		if (end == addresses || (*end != ' ' && *end != '\0') ||
			depth == PLH_MAX_FRAMES)
			plh_dump_lines_damaged(parser->lines, "It has no sound stack.");

		/* dump_writer.c adds 1 to all but the first, for jeprof and pprof */
		frames[depth] = frame_of_address(parser, depth > 0 ? address - 1 : address);
		depth++;
		addresses = end + (*end == ' ');
	}
	if (depth == 0)
		plh_dump_lines_damaged(parser->lines, "It has no stack.");
	if (depth == 1 && frames[0] == PLH_NO_STACK_ADDRESS)
		return 0;
	return plh_profile_builder_add_stack(&parser->profile, frames, depth,
										 truncated);
}

/* Parse the second line of a site, which has its figures and its stack. */
static void
parse_site_stack(Parser *parser, PlhSiteRecord *site, bool truncated)
{
	PlhDumpLines *lines = parser->lines;
	int64		figures[PLH_LINE_FIGURES];
	const char *addresses;

	plh_dump_lines_need(lines, "");
	addresses = plh_dump_lines_figures(lines->line, figures);
	if (addresses == NULL)
		plh_dump_lines_damaged(lines, "It is not that of a stack.");
	for (int i = 0; i < PLH_LINE_FIGURES; i++)
		add_figure(parser, &parser->sums[i], figures[i]);
	site->counters.live_bytes = figures[1];
	site->counters.total_bytes = figures[3];
	site->key.stack = parse_stack(parser, addresses, truncated);
}

/* Add the counters of a site to those of the process. */
static void
add_counters(const Parser *parser, const PlhCounters *counters)
{
	PlhCounters *sums = &plh_profile_builder_header(&parser->profile)->counters;

	add_figure(parser, &sums->live_bytes, counters->live_bytes);
	add_figure(parser, &sums->live_count, counters->live_count);
	add_figure(parser, &sums->total_bytes, counters->total_bytes);
	add_figure(parser, &sums->total_count, counters->total_count);
	sums->live_variance += counters->live_variance;
	if (sums->first_at == 0 || sums->first_at > counters->first_at)
		sums->first_at = counters->first_at;
	sums->last_at = Max(sums->last_at, counters->last_at);
}

/* Parse a site; the current line is the first of its two. */
static void
parse_site(Parser *parser, PlhBaseline **baseline)
{
	PlhDumpLines *lines = parser->lines;
	PlhSiteRecord site = {0};
	PlhSiteRecord *record;
	bool		truncated = plh_dump_lines_number(lines, "truncated", 0, 1);
	int64		baseline_bytes = 0;
	int64		baseline_count = 0;
	uint32		offset;

	parse_site_facts(parser, &site);
	if (plh_dump_lines_get_text(lines, "baseline_bytes") != NULL)
	{
		parser->has_baseline = true;
		baseline_bytes = plh_dump_lines_count(lines, "baseline_bytes");
		baseline_count = plh_dump_lines_count(lines, "baseline_count");
	}
	parse_site_stack(parser, &site, truncated);

	offset = plh_profile_builder_add(&parser->profile, PLH_RECORD_SITE,
									 sizeof(PlhSiteRecord));
	record = plh_profile_builder_record(&parser->profile, offset);
	site.record = record->record;
	*record = site;
	add_figure(parser, &parser->baseline_sum, baseline_bytes);
	plh_baseline_file_add(baseline, offset, baseline_bytes, baseline_count);
	add_counters(parser, &site.counters);
	parser->site_count++;
}

/* Parse the end of the dump, which has a line for each module, for jeprof. */
static void
parse_libraries(Parser *parser)
{
	PlhDumpLines *lines = parser->lines;

	plh_dump_lines_need(lines, "");
	if (lines->line[0] != '\0')
		plh_dump_lines_damaged(lines, "An empty line was expected.");
	plh_dump_lines_need(lines, "MAPPED_LIBRARIES:");
	for (uint32 i = 0; i < parser->module_count; i++)
		plh_dump_lines_need(lines, "");
	if (plh_dump_lines_next(lines))
		plh_dump_lines_damaged(lines, "The file should have ended.");
}

/* Parse all lines that follow those about the process. */
static void
parse_body(Parser *parser, PlhDump *dump)
{
	PlhDumpLines *lines = parser->lines;
	PlhSymbolTable *symbols = NULL;
	PlhBaseline *baseline =
		plh_baseline_file_create(plh_profile_builder_header(&parser->profile)->pid);
	uint32		sites;
	uint32		modules;

	plh_dump_lines_need(lines, "# sites=");
	sites = plh_dump_lines_uint32(lines, "sites");
	modules = plh_dump_lines_uint32(lines, "modules");
	while (parser->module_count < modules)
		parse_module(parser);
	while (parser->site_count < sites)
	{
		plh_dump_lines_need(lines, "#");
		if (strncmp(lines->line, "# symbol ", strlen("# symbol ")) != 0)
			parse_site(parser, &baseline);
		else
		{
			if (symbols == NULL)
				symbols = plh_symbol_table_create();
			parse_symbol(parser, symbols);
		}
	}
	parse_libraries(parser);
	if (memcmp(parser->sums, parser->expected, sizeof(parser->sums)) != 0)
	{
		lines->number = 1;
		plh_dump_lines_damaged(lines, "The sites add up to %lld: %lld [%lld: %lld].",
							   (long long) parser->sums[0], (long long) parser->sums[1],
							   (long long) parser->sums[2], (long long) parser->sums[3]);
	}
	dump->image->symbols = symbols;
	dump->baseline = parser->has_baseline ? baseline : NULL;
}

/*
 * Read a dump.  With "header_only", read what is known of the process and what
 * it held in all, but no sites.
 */
PlhDump *
plh_dump_reader_read(const char *path, bool header_only)
{
	PlhDump    *dump = palloc0(sizeof(PlhDump));
	Parser	   *parser = palloc0(sizeof(Parser));
	PlhProfileHeader *header;

	parser->lines = plh_dump_lines_open(path, header_only);
	plh_profile_builder_begin(&parser->profile, path);
	parse_first_line(parser);
	parse_header(parser, dump);

	dump->image = palloc0(sizeof(PlhProfileImage));
	strlcpy(dump->image->path, path, sizeof(dump->image->path));
	if (!header_only)
		parse_body(parser, dump);
	header = plh_profile_builder_header(&parser->profile);
	if (header_only)
	{
		header->counters.live_count = parser->expected[0];
		header->counters.live_bytes = parser->expected[1];
	}
	header->used_bytes = parser->profile.used_bytes;
	header->site_count = parser->site_count;
	plh_profile_image_adopt(dump->image, header, header->used_bytes);
	return dump;
}
