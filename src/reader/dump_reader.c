/*
 * dump_reader.c
 *	  Turns a dump into an image again, so that every report of a profile is
 *	  one of a dump, too.
 *
 * The lines are parsed in their order, and each adds a record to the image.
 * src/README, "Dump files", describes every line; dump_writer.c writes them.
 * The sums of the sites must be those of their stack and of line 1, and the file
 * must have its size: a dump that lacks lines is not taken for a smaller process.
 */
#include "postgres.h"

#include "common/int.h"
#include "utils/memutils.h"

#include "base/limits.h"
#include "dump/dump_format.h"
#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "reader/baseline_file.h"
#include "reader/dump_header.h"
#include "reader/dump_lines.h"
#include "reader/dump_modules.h"
#include "reader/dump_reader.h"
#include "reader/profile_builder.h"
#include "reader/record_numbers.h"
#include "reader/symbol_table.h"

/* The state of reading one dump. */
typedef struct Parser
{
	PlhDumpLines *lines;
	PlhProfileBuilder profile;
	PlhDumpHeader header;
	PlhDumpModules modules;

	/* names of contexts and statements, by the numbers that sites refer to */
	PlhRecordNumbers *contexts;
	PlhRecordNumbers *statements;

	/* the sites whose stack has not come yet */
	uint32		first_open;		/* offset of the first; 0: there is none */
	bool		truncated;		/* their stack is */
	PlhCounters open_sums;

	int64		sums[PLH_LINE_FIGURES]; /* of the stacks */
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
						 plh_dump_modules_frame(&parser->modules,
												plh_dump_lines_int64(lines, "address")),
						 &source);
}

/*
 * Check the text of a field, which a process keeps up to a length.  Returns the
 * text, which may be NULL.
 */
static char *
check_length(const Parser *parser, const char *field, char *text,
			 Size max_bytes)
{
	if (text != NULL && strlen(text) > max_bytes)
		plh_dump_lines_damaged(parser->lines,
							   "Field \"%s\" has more than %zu bytes.", field,
							   max_bytes);
	return text;
}

/* Read the lifetime in the current line. */
static uint32
parse_lifetime(const Parser *parser)
{
	char	   *name = plh_dump_lines_text(parser->lines, "lifetime");
	uint32		lifetime = PLH_LIFETIME_SESSION;

	while (strcmp(plh_profile_image_lifetime_name(lifetime), name) != 0)
	{
		if (++lifetime >= PLH_LIFETIMES)
			plh_dump_lines_damaged(parser->lines, "There is no lifetime \"%s\".", name);
	}
	return lifetime;
}

/* Note the record that the current line, which has a number, has become. */
static void
add_number(const Parser *parser, PlhRecordNumbers *numbers, uint32 offset)
{
	uint32		number = plh_dump_lines_uint32(parser->lines, "number");

	/* where there was no memory, lines are repeated */
	(void) plh_record_numbers_add(numbers, number, offset);
}

/* The record with the number in that field of the current line. */
static uint32
find_number(const Parser *parser, PlhRecordNumbers *numbers, const char *field)
{
	uint32		number = plh_dump_lines_uint32(parser->lines, field);
	uint32		offset = plh_record_numbers_find(numbers, number);

	if (offset == 0)
		plh_dump_lines_damaged(parser->lines, "There is no %s %u.", field, number);
	return offset;
}

/* Parse the current line, which has the name of a context. */
static void
parse_context(Parser *parser)
{
	char	   *name = check_length(parser, "name",
									plh_dump_lines_text(parser->lines, "name"),
									PLH_CONTEXT_NAME_MAX);

	add_number(parser, parser->contexts,
			   plh_profile_builder_add_string(&parser->profile, name));
}

/* Parse the current line, which has a statement. */
static void
parse_statement(Parser *parser)
{
	PlhDumpLines *lines = parser->lines;
	char	   *text = check_length(parser, "query",
									plh_dump_lines_get_text(lines, "query"),
									PLH_STATEMENT_MAX);
	bool		has_id = plh_dump_lines_get_text(lines, "query_id") != NULL;

	add_number(parser, parser->statements,
			   plh_profile_builder_add_statement(&parser->profile, has_id ?
												 plh_dump_lines_int64(lines, "query_id") : 0,
												 text != NULL ? text : ""));
}

/* Read a time that is written as microseconds since the process started. */
static TimestampTz
parse_time(const Parser *parser, const char *name)
{
	TimestampTz time = plh_profile_builder_header(&parser->profile)->started_at;

	add_figure(parser, &time, plh_dump_lines_int64(parser->lines, name));
	return time;
}

/* Parse the counters in the current line. */
static void
parse_counters(const Parser *parser, PlhCounters *counters)
{
	const PlhDumpLines *lines = parser->lines;

	counters->live_bytes = plh_dump_lines_get_count(lines, "live_bytes", 0);
	counters->live_count = plh_dump_lines_get_count(lines, "live_count", 0);
	counters->live_samples = plh_dump_lines_get_count(lines, "samples", 0);
	counters->total_bytes = plh_dump_lines_get_count(lines, "total_bytes",
													 counters->live_bytes);
	counters->total_count = plh_dump_lines_get_count(lines, "total_count",
													 counters->live_count);
	counters->total_samples = plh_dump_lines_get_count(lines, "total_samples",
													   counters->live_samples);
	if (counters->total_samples == 0)
		plh_dump_lines_damaged(lines, "The site has no samples.");
	if (plh_dump_lines_get_text(lines, "variance") != NULL)
		counters->live_variance = plh_dump_lines_real(lines, "variance");
	counters->first_at = parse_time(parser, "first_us");
	counters->last_at = parse_time(parser, "last_us");
}

/*
 * Parse the facts about a site, in the current line; a later one has its stack.
 */
static void
parse_site_facts(const Parser *parser, PlhSiteRecord *site)
{
	PlhDumpLines *lines = parser->lines;

	if (plh_dump_lines_get_text(lines, "context") != NULL)
	{
		site->key.context_name = find_number(parser, parser->contexts, "context");
		site->key.lifetime = parse_lifetime(parser);
	}
	if (plh_dump_lines_get_text(lines, "statement") != NULL)
		site->key.statement = find_number(parser, parser->statements, "statement");
	parse_counters(parser, &site->counters);
	site->peak_bytes = plh_dump_lines_get_count(lines, "peak_bytes",
												site->counters.live_bytes);

	/* a site that has changed since the peak shows its own peak_bytes */
	site->last_change = 1;
}

/* Let the sites that wait for a stack have it. */
static void
set_stack(Parser *parser, uint32 stack, uint32 end)
{
	uint32		offset = parser->first_open;

	while (offset < end)
	{
		PlhRecord  *record = plh_profile_builder_record(&parser->profile, offset);

		if (record->kind == PLH_RECORD_SITE)
			((PlhSiteRecord *) record)->key.stack = stack;
		offset += record->bytes;
	}
	parser->first_open = 0;
	memset(&parser->open_sums, 0, sizeof(parser->open_sums));
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
		frames[depth] = plh_dump_modules_frame(&parser->modules,
											   depth > 0 ? address - 1 : address);
		depth++;
		addresses = end + (*end == ' ');
	}
	if (depth == 0)
		plh_dump_lines_damaged(parser->lines, "It has no stack.");
	if (depth == 1 && frames[0] == PLH_NO_STACK_ADDRESS)
		return 0;
	if (depth == 1 && frames[0] == PLH_FORMER_STACKS_ADDRESS)
		return PLH_FORMER_STACKS;
	return plh_profile_builder_add_stack(&parser->profile, frames, depth,
										 truncated);
}

/*
 * The figures of a stack must be those of its sites, with the counts that
 * jeprof can read.
 */
static void
check_figures(const Parser *parser, const int64 *figures)
{
	const PlhCounters *sums = &parser->open_sums;

	if (figures[0] != (sums->live_bytes > 0 ? sums->live_count : 0) ||
		figures[1] != sums->live_bytes ||
		figures[2] != (sums->total_bytes > 0 ? sums->total_count : 0) ||
		figures[3] != sums->total_bytes)
		plh_dump_lines_damaged(parser->lines, "The sites of the stack add up to %lld: %lld [%lld: %lld].",
							   (long long) sums->live_count,
							   (long long) sums->live_bytes,
							   (long long) sums->total_count,
							   (long long) sums->total_bytes);
}

/* Parse the current line, which has the stack of the sites before it. */
static void
parse_stack_line(Parser *parser)
{
	PlhDumpLines *lines = parser->lines;
	int64		figures[PLH_LINE_FIGURES];
	const char *addresses = plh_dump_lines_figures(lines->line, figures);
	uint32		end = parser->profile.used_bytes;

	if (addresses == NULL || parser->first_open == 0)
		plh_dump_lines_damaged(lines, "It is not that of a stack.");
	check_figures(parser, figures);
	for (int i = 0; i < PLH_LINE_FIGURES; i++)
		add_figure(parser, &parser->sums[i], figures[i]);
	set_stack(parser, parse_stack(parser, addresses, parser->truncated), end);
}

/* Add the counters of a site to those of its stack, or of the process. */
static void
add_counters(const Parser *parser, PlhCounters *sums,
			 const PlhCounters *counters)
{
	add_figure(parser, &sums->live_bytes, counters->live_bytes);
	add_figure(parser, &sums->live_count, counters->live_count);
	add_figure(parser, &sums->total_bytes, counters->total_bytes);
	add_figure(parser, &sums->total_count, counters->total_count);
	sums->live_variance += counters->live_variance;
	if (sums->first_at == 0 || sums->first_at > counters->first_at)
		sums->first_at = counters->first_at;
	sums->last_at = Max(sums->last_at, counters->last_at);
}

/* Parse the current line, which has a site. */
static void
parse_site(Parser *parser, PlhBaseline **baseline)
{
	PlhDumpLines *lines = parser->lines;
	PlhSiteRecord site = {0};
	PlhSiteRecord *record;
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
	parser->truncated = plh_dump_lines_get_text(lines, "truncated") != NULL &&
		plh_dump_lines_number(lines, "truncated", 0, 1) == 1;
	offset = plh_profile_builder_add(&parser->profile, PLH_RECORD_SITE,
									 sizeof(PlhSiteRecord));
	record = plh_profile_builder_record(&parser->profile, offset);
	site.record = record->record;
	*record = site;
	add_figure(parser, &parser->baseline_sum, baseline_bytes);
	plh_baseline_file_add(baseline, offset, baseline_bytes, baseline_count);
	add_counters(parser, &parser->open_sums, &site.counters);
	add_counters(parser,
				 &plh_profile_builder_header(&parser->profile)->counters,
				 &site.counters);
	if (parser->first_open == 0)
		parser->first_open = offset;
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
	for (uint32 i = 0; i < parser->modules.count; i++)
		plh_dump_lines_need(lines, "");
	if (plh_dump_lines_next(lines))
		plh_dump_lines_damaged(lines, "The file should have ended.");
}

/* Does the current line begin with that word, which a blank follows? */
static bool
begins_with(const PlhDumpLines *lines, const char *word)
{
	Size		length = strlen(word);

	return strncmp(lines->line, word, length) == 0 && lines->line[length] == ' ';
}

/* Parse the current line, one of those between the modules and the libraries. */
static void
parse_line(Parser *parser, PlhSymbolTable **symbols, PlhBaseline **baseline)
{
	const PlhDumpLines *lines = parser->lines;

	if (begins_with(lines, "# site"))
		parse_site(parser, baseline);
	else if (begins_with(lines, "# statement"))
		parse_statement(parser);
	else if (begins_with(lines, "# context"))
		parse_context(parser);
	else if (begins_with(lines, "# symbol"))
	{
		if (*symbols == NULL)
			*symbols = plh_symbol_table_create();
		parse_symbol(parser, *symbols);
	}
	else
		parse_stack_line(parser);
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
	while (parser->modules.count < modules)
		plh_dump_modules_parse(&parser->modules, lines, &parser->profile);
	while (parser->site_count < sites || parser->first_open != 0)
	{
		plh_dump_lines_need(lines, "");
		parse_line(parser, &symbols, &baseline);
	}
	parse_libraries(parser);
	plh_dump_header_check(lines, &parser->header, parser->sums);
	dump->image->symbols = symbols;
	dump->baseline = parser->has_baseline ? baseline : NULL;
}

/*
 * Read a dump, or a part of it.
 */
PlhDump *
plh_dump_reader_read(const char *path, PlhDumpPart part)
{
	PlhDump    *dump = palloc0(sizeof(PlhDump));
	Parser	   *parser = palloc0(sizeof(Parser));
	PlhProfileHeader *header;

	parser->lines = plh_dump_lines_open(path, part == PLH_DUMP_HEADER);
	parser->contexts = plh_record_numbers_create();
	parser->statements = plh_record_numbers_create();
	plh_profile_builder_begin(&parser->profile, path);
	plh_dump_header_parse(parser->lines, &parser->header,
						  plh_profile_builder_header(&parser->profile));
	dump->reason = parser->header.reason;
	dump->written_at = parser->header.written_at;

	dump->image = palloc0(sizeof(PlhProfileImage));
	strlcpy(dump->image->path, path, sizeof(dump->image->path));
	dump->image->crashed = strcmp(dump->reason, "crash") == 0 ||
		plh_profile_builder_header(&parser->profile)->death.at != 0;
	if (part != PLH_DUMP_HEADER)
		parse_body(parser, dump);
	if (part == PLH_DUMP_TEXT)
		dump->text = plh_dump_lines_restore(parser->lines, &dump->text_bytes);
	header = plh_profile_builder_header(&parser->profile);
	if (part == PLH_DUMP_HEADER)
	{
		header->counters.live_count = parser->header.figures[0];
		header->counters.live_bytes = parser->header.figures[1];
	}
	header->used_bytes = parser->profile.used_bytes;
	header->site_count = parser->site_count;
	plh_profile_image_adopt(dump->image, header, header->used_bytes);
	return dump;
}
