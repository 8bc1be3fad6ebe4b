/*
 * dump_reader.c
 *	  Heap files become profiles again, for all that shows profiles.
 *
 * A file is read as a whole and turned into the image of a profile, record by
 * record.  src/README, "Dump files", describes every line; dump_writer.c
 * writes them.
 */
#include "postgres.h"

#include <sys/stat.h>

#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/memutils.h"

#include "dump_format.h"
#include "dump_reader.h"
#include "lifetime.h"
#include "settings.h"
#include "symbol_table.h"
#include "unwind.h"

/* A file that is being read, line by line. */
typedef struct Parser
{
	const char *path;
	char	   *next;			/* start of the next line */
	char	   *line;			/* this one; ends with NUL instead of newline */
	int			number;			/* of this one, from 1 on */

	/* the profile in the making: grows, so that there are offsets only */
	char	   *base;
	Size		used;
	Size		room;
	uint32		module_count;
	uint64		module_bases[PLH_IMAGE_MODULES];

	/* what line 1 says the sites add up to, and what they do */
	int64		expected[4];
	int64		sums[4];
	uint32		site_count;
	bool		has_baseline;
} Parser;

static void damaged(const Parser *parser, const char *format,...)
			pg_attribute_printf(2, 3);

/* The ERROR about the current line. */
static void
damaged(const Parser *parser, const char *format,...)
{
	char		detail[512];
	va_list		args;

	va_start(args, format);
	vsnprintf(detail, sizeof(detail), format, args);
	va_end(args);
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("dump file \"%s\" is damaged at line %d", parser->path,
					parser->number),
			 errdetail_internal("%s", detail)));
}

/* Go on to the next line; false at the end of the file. */
static bool
next_line(Parser *parser)
{
	char	   *end;

	CHECK_FOR_INTERRUPTS();
	parser->number++;
	parser->line = parser->next;
	if (*parser->next == '\0')
		return false;
	end = strchr(parser->next, '\n');
	if (end == NULL)
		damaged(parser, "The file ends within the line.");
	*end = '\0';
	parser->next = end + 1;
	return true;
}

/* The next line, which must be there and begin that way. */
static void
need_line(Parser *parser, const char *prefix)
{
	if (!next_line(parser))
		damaged(parser, "The file ends here.");
	if (strncmp(parser->line, prefix, strlen(prefix)) != 0)
		damaged(parser, "A line that begins with \"%s\" was expected.",
				prefix);
}

/* The raw value of "name=value" in the current line, and its length; or NULL. */
static const char *
find_field(const Parser *parser, const char *name, Size *length)
{
	Size		name_length = strlen(name);
	const char *word = parser->line;

	for (;;)
	{
		Size		word_length = strcspn(word, " ");

		if (word_length > name_length && word[name_length] == '=' &&
			strncmp(word, name, name_length) == 0)
		{
			*length = word_length - name_length - 1;
			return word + name_length + 1;
		}
		if (word[word_length] == '\0')
			return NULL;
		word += word_length + 1;
	}
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* The value of a field with %XX put right; NULL if there is no such field. */
static char *
get_text(const Parser *parser, const char *name)
{
	Size		length;
	const char *raw = find_field(parser, name, &length);
	char	   *text;
	char	   *end;

	if (raw == NULL)
		return NULL;
	text = end = palloc(length + 1);
	for (Size i = 0; i < length; i++)
	{
		if (raw[i] != '%')
			*end++ = raw[i];
		else if (i + 2 < length && hex_digit(raw[i + 1]) >= 0 &&
				 hex_digit(raw[i + 2]) >= 0 &&
				 (raw[i + 1] != '0' || raw[i + 2] != '0'))
		{
			*end++ = hex_digit(raw[i + 1]) * 16 + hex_digit(raw[i + 2]);
			i += 2;
		}
		else
			damaged(parser, "Field \"%s\" has a \"%%\" without a code.", name);
	}
	*end = '\0';
	return text;
}

/* The value of a field that must be there. */
static char *
need_text(const Parser *parser, const char *name)
{
	char	   *text = get_text(parser, name);

	if (text == NULL)
		damaged(parser, "Field \"%s\" is missing.", name);
	return text;
}

/* A whole number from "low" to "high", decimal or with 0x. */
static int64
need_number(const Parser *parser, const char *name, int64 low, int64 high)
{
	char	   *text = need_text(parser, name);
	char	   *end;
	int64		value;

	errno = 0;
	value = strtoll(text, &end, 0);
	if (errno != 0 || end == text || *end != '\0' || value < low ||
		value > high)
		damaged(parser, "Field \"%s\" is no number from %lld to %lld.", name,
				(long long) low, (long long) high);
	pfree(text);
	return value;
}

static int64
need_int64(const Parser *parser, const char *name)
{
	return need_number(parser, name, PG_INT64_MIN, PG_INT64_MAX);
}

static uint32
need_uint32(const Parser *parser, const char *name)
{
	return need_number(parser, name, 0, PG_UINT32_MAX);
}

/* A time; in the file as microseconds since 1970. */
static TimestampTz
need_time(const Parser *parser, const char *name)
{
	return need_number(parser, name, 0, PG_INT64_MAX) - PLH_UNIX_EPOCH_US;
}

/* What the profile has so far. */
static PlhProfileHeader *
header_of(const Parser *parser)
{
	return (PlhProfileHeader *) parser->base;
}

/* Add a record of zeros; returns its offset.  Pointers to others are stale. */
static uint32
add_record(Parser *parser, PlhRecordKind kind, Size bytes)
{
	PlhRecord  *record;
	uint32		offset = parser->used;

	bytes = TYPEALIGN(8, bytes);
	if (parser->used + bytes > PG_INT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("dump file \"%s\" is too large", parser->path)));
	while (parser->used + bytes > parser->room)
	{
		parser->room *= 2;
		parser->base = repalloc_huge(parser->base, parser->room);
	}
	memset(parser->base + offset, 0, bytes);
	record = (PlhRecord *) (parser->base + offset);
	record->kind = kind;
	record->bytes = bytes;
	parser->used += bytes;
	return offset;
}

/* Line 1: what the sites add up to. */
static void
parse_first_line(Parser *parser)
{
	long long	figures[4];

	need_line(parser, "heap profile: ");
	if (sscanf(parser->line, "heap profile: %lld: %lld [%lld: %lld] @ heapprofile",
			   &figures[0], &figures[1], &figures[2], &figures[3]) != 4)
		damaged(parser, "It is not that of a heap profile.");
	for (int i = 0; i < 4; i++)
		parser->expected[i] = figures[i];
}

/* The lines about the process. */
static void
parse_header(Parser *parser, PlhDump *dump)
{
	PlhProfileHeader *header = header_of(parser);
	char	   *scope;

	need_line(parser, "# pg_leakhunt dump_version=");
	if (need_int64(parser, "dump_version") != PLH_DUMP_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("dump file \"%s\" has another version", parser->path),
				 errdetail("This version of pg_leakhunt reads version %d.",
						   PLH_DUMP_VERSION)));
	dump->reason = need_text(parser, "reason");
	header->pid = need_number(parser, "pid", 1, PG_INT32_MAX);
	strlcpy(header->label, need_text(parser, "backend_type"),
			sizeof(header->label));
	header->database_oid = need_uint32(parser, "database_oid");
	header->role_oid = need_uint32(parser, "role_oid");
	header->encoding = need_number(parser, "encoding", 0, PG_INT32_MAX);

	need_line(parser, "# postgres=");
	header->pg_version = need_uint32(parser, "postgres");
	header->started_at = need_time(parser, "started_at_us");
	dump->written_at = need_time(parser, "written_at_us");
	header->sample_interval = need_uint32(parser, "sample_interval");
	scope = need_text(parser, "scope");
	while (strcmp(plh_settings_scope_name(header->scope), scope) != 0)
	{
		if (++header->scope > PLH_SCOPE_ALL)
			damaged(parser, "There is no scope \"%s\".", scope);
	}

	need_line(parser, "# samples_live=");
	header->counters.live_samples = need_int64(parser, "samples_live");
	header->counters.total_samples = need_int64(parser, "samples_kept");
	header->samples_taken = need_int64(parser, "samples_taken");
	header->peak_bytes = need_int64(parser, "peak_bytes");
	header->private_bytes = need_int64(parser, "private_bytes");
	header->profile_bytes = need_int64(parser, "profile_bytes");

	need_line(parser, "# lost_untracked=");
	header->lost_samples[PLH_LOSS_LIVE_TABLE] = need_int64(parser, "lost_untracked");
	header->lost_bytes[PLH_LOSS_LIVE_TABLE] = need_int64(parser, "lost_untracked_bytes");
	header->lost_samples[PLH_LOSS_PROFILE] = need_int64(parser, "lost_site");
	header->lost_bytes[PLH_LOSS_PROFILE] = need_int64(parser, "lost_site_bytes");
	header->lost_samples[PLH_LOSS_CRITICAL] = need_int64(parser, "lost_critical");
	header->lost_bytes[PLH_LOSS_CRITICAL] = need_int64(parser, "lost_critical_bytes");
}

/* A module. */
static void
parse_module(Parser *parser)
{
	uint32		index = parser->module_count + 1;
	PlhModuleRecord *module;
	char	   *build_id;
	char	   *path;

	need_line(parser, "# module base=");
	build_id = need_text(parser, "build_id");
	path = need_text(parser, "path");
	if (index >= PLH_IMAGE_MODULES || strlen(path) >= MAXPGPATH)
		damaged(parser, "There are too many modules, or the path is too long.");
	parser->module_bases[index] = need_int64(parser, "base");
	module = (PlhModuleRecord *)
		(parser->base + add_record(parser, PLH_RECORD_MODULE,
								   offsetof(PlhModuleRecord, path) +
								   strlen(path) + 1));
	module->index = index;
	for (char *digit = build_id; *digit != '\0'; digit += 2)
	{
		if (hex_digit(digit[0]) < 0 || hex_digit(digit[1]) < 0 ||
			module->build_id_bytes == PLH_BUILD_ID_MAX)
			damaged(parser, "Field \"build_id\" is not what it should be.");
		module->build_id[module->build_id_bytes++] =
			hex_digit(digit[0]) * 16 + hex_digit(digit[1]);
	}
	module->text_address = need_int64(parser, "text_address");
	module->text_bytes = need_int64(parser, "text_bytes");
	module->text_file_offset = need_int64(parser, "file_offset");
	module->seen_at = need_time(parser, "seen_at_us");
	module->path_bytes = strlen(path);
	strcpy(module->path, path);
	parser->module_count++;
}

/* The frame that an address in the file stands for. */
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

/* A function that the current line says an address is in. */
static void
parse_symbol(Parser *parser, PlhSymbolTable *table)
{
	PlhSourceFrame source = {0};

	source.function = need_text(parser, "function");
	source.file = get_text(parser, "file");
	source.line = need_number(parser, "line", 0, PG_INT32_MAX);
	source.inlined = need_number(parser, "inlined", 0, 1);
	plh_symbol_table_add(table,
						 frame_of_address(parser,
										  need_int64(parser, "address")),
						 &source);
}

/* Add a text, as a string or a statement; returns its offset. */
static uint32
add_string(Parser *parser, const char *text)
{
	uint32		offset = add_record(parser, PLH_RECORD_STRING,
									offsetof(PlhStringRecord, text) +
									strlen(text) + 1);
	PlhStringRecord *string = (PlhStringRecord *) (parser->base + offset);

	string->text_bytes = strlen(text);
	strcpy(string->text, text);
	return offset;
}

static uint32
add_statement(Parser *parser, uint64 query_id, const char *text)
{
	uint32		offset = add_record(parser, PLH_RECORD_STATEMENT,
									offsetof(PlhStatementRecord, text) +
									strlen(text) + 1);
	PlhStatementRecord *statement =
	(PlhStatementRecord *) (parser->base + offset);

	statement->query_id = query_id;
	statement->text_bytes = strlen(text);
	strcpy(statement->text, text);
	return offset;
}

/* The lifetime that the current line has. */
static uint32
parse_lifetime(const Parser *parser)
{
	char	   *name = need_text(parser, "lifetime");
	uint32		lifetime = PLH_LIFETIME_SESSION;

	while (strcmp(plh_lifetime_name(lifetime), name) != 0)
	{
		if (++lifetime > PLH_LIFETIME_ERROR)
			damaged(parser, "There is no lifetime \"%s\".", name);
	}
	return lifetime;
}

/* The facts about a site, in the current line; its stack follows. */
static void
parse_site_facts(Parser *parser, PlhSiteRecord *site)
{
	char	   *context = get_text(parser, "context");
	char	   *query = get_text(parser, "query");
	PlhCounters *counters = &site->counters;

	if (context != NULL)
	{
		site->key.context_name = add_string(parser, context);
		site->key.lifetime = parse_lifetime(parser);
	}
	if (query != NULL || get_text(parser, "query_id") != NULL)
		site->key.statement =
			add_statement(parser, get_text(parser, "query_id") == NULL ? 0 :
						  need_int64(parser, "query_id"),
						  query != NULL ? query : "");
	counters->live_count = need_int64(parser, "live_count");
	counters->total_count = need_int64(parser, "total_count");
	counters->live_samples = need_int64(parser, "samples");
	counters->total_samples = need_number(parser, "total_samples", 1,
										  PG_INT64_MAX);
	counters->live_variance = strtod(need_text(parser, "variance"), NULL);
	counters->first_at = need_time(parser, "first_at_us");
	counters->last_at = need_time(parser, "last_at_us");
	site->peak_bytes = need_int64(parser, "peak_bytes");

	/* as if it had changed since the peak: peak_bytes counts */
	site->last_change = 1;
}

/* The addresses of a stack; returns the offset of the record, 0 if none. */
static uint32
parse_stack(Parser *parser, const char *addresses, bool truncated)
{
	PlhFrame	frames[PLH_MAX_FRAMES];
	uint32		depth = 0;
	PlhStackRecord *stack;
	uint32		offset;

	while (*addresses != '\0')
	{
		char	   *end;
		uint64		address = strtoull(addresses, &end, 16);

		if (end == addresses || (*end != ' ' && *end != '\0') ||
			depth == PLH_MAX_FRAMES)
			damaged(parser, "It has no sound stack.");
		/* all but the first are return addresses */
		frames[depth] = frame_of_address(parser, depth > 0 ? address - 1 : address);
		depth++;
		addresses = end + (*end == ' ');
	}
	if (depth == 0)
		damaged(parser, "It has no stack.");
	if (depth == 1 && frames[0] == PLH_NO_STACK_ADDRESS)
		return 0;
	offset = add_record(parser, PLH_RECORD_STACK,
						offsetof(PlhStackRecord, frames) +
						sizeof(PlhFrame) * depth);
	stack = (PlhStackRecord *) (parser->base + offset);
	stack->depth = depth;
	stack->truncated = truncated;
	memcpy(stack->frames, frames, sizeof(PlhFrame) * depth);
	return offset;
}

/* The line with the figures and the stack of a site. */
static void
parse_site_stack(Parser *parser, PlhSiteRecord *site, bool truncated)
{
	long long	figures[4];
	int			length = 0;

	need_line(parser, "");
	if (sscanf(parser->line, "%lld: %lld [%lld: %lld] @ %n", &figures[0],
			   &figures[1], &figures[2], &figures[3], &length) != 4 ||
		length == 0)
		damaged(parser, "It is not that of a stack.");
	for (int i = 0; i < 4; i++)
		parser->sums[i] += figures[i];
	site->counters.live_bytes = figures[1];
	site->counters.total_bytes = figures[3];
	site->key.stack = parse_stack(parser, parser->line + length, truncated);
}

/* A site, the first of whose two lines is the current one. */
static void
parse_site(Parser *parser, PlhBaseline **baseline)
{
	PlhSiteRecord site = {0};
	PlhSiteRecord *record;
	PlhCounters *sums;
	bool		truncated = need_number(parser, "truncated", 0, 1);
	int64		baseline_bytes = 0;
	int64		baseline_count = 0;
	uint32		offset;

	parse_site_facts(parser, &site);
	if (get_text(parser, "baseline_bytes") != NULL)
	{
		parser->has_baseline = true;
		baseline_bytes = need_int64(parser, "baseline_bytes");
		baseline_count = need_int64(parser, "baseline_count");
	}
	parse_site_stack(parser, &site, truncated);

	offset = add_record(parser, PLH_RECORD_SITE, sizeof(PlhSiteRecord));
	record = (PlhSiteRecord *) (parser->base + offset);
	site.record = record->record;
	*record = site;
	plh_baseline_add(baseline, offset, baseline_bytes, baseline_count);

	sums = &header_of(parser)->counters;
	sums->live_bytes += site.counters.live_bytes;
	sums->live_count += site.counters.live_count;
	sums->total_bytes += site.counters.total_bytes;
	sums->total_count += site.counters.total_count;
	sums->live_variance += site.counters.live_variance;
	if (sums->first_at == 0 || sums->first_at > site.counters.first_at)
		sums->first_at = site.counters.first_at;
	sums->last_at = Max(sums->last_at, site.counters.last_at);
	parser->site_count++;
}

/* The end of the file: as many libraries as there are modules. */
static void
parse_libraries(Parser *parser)
{
	need_line(parser, "");
	if (parser->line[0] != '\0')
		damaged(parser, "An empty line was expected.");
	need_line(parser, "MAPPED_LIBRARIES:");
	for (uint32 i = 0; i < parser->module_count; i++)
		need_line(parser, "");
	if (next_line(parser))
		damaged(parser, "The file should have ended.");
}

/* All but the header. */
static void
parse_body(Parser *parser, PlhDump *dump)
{
	PlhSymbolTable *symbols = NULL;
	PlhBaseline *baseline = plh_baseline_create(header_of(parser)->pid);
	uint32		sites;
	uint32		modules;

	need_line(parser, "# sites=");
	sites = need_uint32(parser, "sites");
	modules = need_uint32(parser, "modules");
	while (parser->module_count < modules)
		parse_module(parser);
	while (parser->site_count < sites)
	{
		need_line(parser, "#");
		if (strncmp(parser->line, "# symbol ", strlen("# symbol ")) != 0)
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
		parser->number = 1;
		damaged(parser, "The sites add up to %lld: %lld [%lld: %lld].",
				(long long) parser->sums[0], (long long) parser->sums[1],
				(long long) parser->sums[2], (long long) parser->sums[3]);
	}
	dump->image->symbols = symbols;
	dump->baseline = parser->has_baseline ? baseline : NULL;
}

/* What a symbolized dump begins with, and room for all lines up to "# lost_". */
#define SYMBOL_SECTION "--- symbol"
#define HEADER_BYTES (16 * 1024)

/* A file as text, or as much as the header takes, unless symbols precede it. */
static char *
read_text(const char *path, bool header_only)
{
	char		start[sizeof(SYMBOL_SECTION)] = "";
	FILE	   *file = AllocateFile(path, PG_BINARY_R);
	struct stat status;
	Size		bytes;
	char	   *text;

	if (file == NULL || fstat(fileno(file), &status) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open dump file \"%s\": %m", path)));
	if (!S_ISREG(status.st_mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a file", path)));
	bytes = status.st_size;
	if (header_only &&
		(fread(start, 1, sizeof(start) - 1, file) < sizeof(start) - 1 ||
		 strcmp(start, SYMBOL_SECTION) != 0))
		bytes = Min(bytes, HEADER_BYTES);
	text = MemoryContextAllocHuge(CurrentMemoryContext, bytes + 1);
	if (fseek(file, 0, SEEK_SET) != 0 ||
		fread(text, 1, bytes, file) != bytes)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read dump file \"%s\": %m", path)));
	FreeFile(file);
	text[bytes] = '\0';
	return text;
}

/* Skip the section that symbolized dumps have for jeprof. */
static void
skip_symbol_section(Parser *parser)
{
	if (strncmp(parser->next, SYMBOL_SECTION, strlen(SYMBOL_SECTION)) != 0)
		return;
	do
		need_line(parser, "");
	while (strcmp(parser->line, "--- heap") != 0);
}

/*
 * Read a dump file, in the current memory context.  With "header_only", what is
 * known of the process, and what it held.
 */
PlhDump *
plh_dump_reader_read(const char *path, bool header_only)
{
	PlhDump    *dump = palloc0(sizeof(PlhDump));
	Parser	   *parser = palloc0(sizeof(Parser));
	PlhProfileHeader *header;

	parser->path = path;
	parser->next = read_text(path, header_only);
	parser->room = 64 * 1024;
	parser->base = palloc0(parser->room);
	parser->used = MAXALIGN(sizeof(PlhProfileHeader));
	skip_symbol_section(parser);
	parse_first_line(parser);
	parse_header(parser, dump);

	dump->image = palloc0(sizeof(PlhProfileImage));
	strlcpy(dump->image->path, path, sizeof(dump->image->path));
	if (!header_only)
		parse_body(parser, dump);
	header = header_of(parser);
	if (header_only)
	{
		header->counters.live_count = parser->expected[0];
		header->counters.live_bytes = parser->expected[1];
	}
	header->used_bytes = parser->used;
	header->site_count = parser->site_count;
	plh_profile_reader_adopt(dump->image, header);
	return dump;
}
