/*
 * dump_writer.c
 *	  The text of a dump file.
 *
 * The format is the heap profile that both jeprof and Go's pprof read.  All
 * other facts stand in lines that start with "#", which both skip.
 * src/README, "Dump files", describes every line; dump_reader.c reads them.
 *
 * This code runs inside palloc and at exit.
 */
#include "postgres.h"

#include "datatype/timestamp.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "base/clock.h"
#include "base/page_layout.h"
#include "base/settings.h"
#include "dump/dump_addresses.h"
#include "dump/dump_format.h"
#include "dump/dump_sites.h"
#include "dump/dump_text.h"
#include "dump/dump_writer.h"
#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "profile/site_facts.h"

/* These are static, as an exiting process may be out of memory. */
static PLH_LARGE PlhDumpText dump_text;
static PLH_LARGE PlhPlacement placement;
static PLH_LARGE PlhDumpSites dump_sites;

/* What all lines of stacks add up to. */
typedef struct DumpSums
{
	PlhCounters counters;
	uint32		sites;
	uint32		live_sites;
} DumpSums;

/* Returns a time as microseconds since 1970. */
static long long
unix_us(TimestampTz time)
{
	return (long long) time + PLH_UNIX_EPOCH_US;
}

/*
 * Append "count: bytes [count: bytes]".  jeprof dies on a count without bytes,
 * so the count is written as 0 where the bytes are.
 */
static void
emit_counters(PlhDumpText *file, const PlhCounters *counters)
{
	plh_dump_text_format(file, "%lld: %lld [%lld: %lld] @",
						 (long long) (counters->live_bytes > 0 ? counters->live_count : 0),
						 (long long) counters->live_bytes,
						 (long long) (counters->total_bytes > 0 ? counters->total_count : 0),
						 (long long) counters->total_bytes);
}

/* Add the figures of a site to those of its stack. */
static void
add_site(PlhCounters *stack, const PlhCounters *site)
{
	stack->live_bytes += site->live_bytes;
	stack->live_count += site->live_count;
	stack->total_bytes += site->total_bytes;
	stack->total_count += site->total_count;
}

/* Add the figures of a stack as emit_counters shows them, and begin another. */
static void
add_stack(PlhCounters *sums, PlhCounters *stack)
{
	sums->live_bytes += stack->live_bytes;
	sums->total_bytes += stack->total_bytes;
	if (stack->live_bytes > 0)
		sums->live_count += stack->live_count;
	if (stack->total_bytes > 0)
		sums->total_count += stack->total_count;
	memset(stack, 0, sizeof(*stack));
}

/*
 * Add up the sites for line 1.  In the profile of a process at work, the
 * counters in the header may be one sample ahead of the sites or behind them.
 */
static void
sum_up(PlhDumpSites *sites, DumpSums *sums)
{
	uint32		stack = 0;
	PlhCounters of_stack = {0};
	PlhSiteFacts facts;

	memset(sums, 0, sizeof(*sums));
	while (plh_dump_sites_next(sites, &facts))
	{
		if (plh_dump_sites_stack(&facts) != stack)
			add_stack(&sums->counters, &of_stack);
		stack = plh_dump_sites_stack(&facts);
		add_site(&of_stack, facts.counters);
		sums->sites++;
		sums->live_sites += facts.counters->live_count > 0;
	}
	add_stack(&sums->counters, &of_stack);
}

/* Append line 1. */
static void
emit_sums(PlhDumpText *file, const DumpSums *sums)
{
	plh_dump_text_format(file, "heap profile: ");
	emit_counters(file, &sums->counters);
	plh_dump_text_format(file, " heapprofile\n");
}

/* Append how many sites follow, are folded into these, and modules follow. */
static void
emit_numbers(PlhDumpText *file, const PlhProfileImage *image,
			 const DumpSums *sums)
{
	uint32		modules = 0;

	while (plh_profile_image_module(image, modules + 1) != NULL)
		modules++;
	plh_dump_text_format(file, "# sites=%u folded=%u modules=%u\n", sums->sites,
						 dump_sites.folded, modules);
}

/*
 * The word for how a process ended.  The number comes from a profile and may be
 * any.
 */
static const char *
death_word(uint32 kind)
{
	return plh_dump_format_deaths[kind < PLH_DEATH_KINDS ? kind :
								  PLH_DEATH_UNKNOWN];
}

/* Append one of the fields about the process. */
static void
emit_field(PlhDumpText *file, const PlhDumpField *field,
		   const PlhProfileImage *image, const char *reason)
{
	const char *name = field->name;
	const void *value = (const char *) image->header + field->offset;

	switch (field->kind)
	{
		case PLH_FIELD_VERSION:
			plh_dump_text_format(file, " %s=%d", name, PLH_DUMP_VERSION);
			break;
		case PLH_FIELD_FILE_BYTES:
			plh_dump_text_size(file, name);
			break;
		case PLH_FIELD_REASON:
			plh_dump_text_format(file, " %s=%s", name, reason);
			break;
		case PLH_FIELD_WRITTEN_AT:
			plh_dump_text_format(file, " %s=%lld", name, unix_us(GetCurrentTimestamp()));
			break;
		case PLH_FIELD_BACKEND_TYPE:
			value = plh_profile_image_backend_type(image);
			plh_dump_text_value(file, name, value, strlen(value));
			break;
		case PLH_FIELD_NAME:
			plh_dump_text_value(file, name, value, strnlen(value, PLH_NAME_MAX));
			break;
		case PLH_FIELD_DEATH:
			plh_dump_text_format(file, " %s=%s", name, death_word(*(const uint32 *) value));
			break;
		case PLH_FIELD_SCOPE:
			plh_dump_text_format(file, " %s=%s", name,
								 plh_settings_scope_name(*(const uint32 *) value));
			break;
		case PLH_FIELD_PID:
		case PLH_FIELD_INT32:
			plh_dump_text_format(file, " %s=%d", name, Max(*(const int32 *) value, 0));
			break;
		case PLH_FIELD_UINT32:
			plh_dump_text_format(file, " %s=%u", name, *(const uint32 *) value);
			break;
		case PLH_FIELD_COUNT:
		case PLH_FIELD_COUNT_IF_KNOWN:
			plh_dump_text_format(file, " %s=%lld", name, (long long) *(const int64 *) value);
			break;
		case PLH_FIELD_TIME:
			plh_dump_text_format(file, " %s=%lld", name, unix_us(*(const TimestampTz *) value));
			break;
	}
}

/* Append the lines about the process. */
static void
emit_header(PlhDumpText *file, const PlhProfileImage *image, const char *reason)
{
	const PlhDumpField *first = plh_dump_format_process;

	for (const PlhDumpField *field = first; field->name != NULL; field++)
	{
		if (field->line_start != NULL)
			plh_dump_text_format(file, "%s%s", field > first ? "\n" : "", field->line_start);
		emit_field(file, field, image, reason);
	}
	plh_dump_text_format(file, "\n");
}

/*
 * Returns the number by which lines of sites refer to a context's name or a
 * statement, or 0 for none; *is_new tells whether it must be named first.
 */
static uint32
number_of(const PlhProfileImage *image, const void *record, bool *is_new)
{
	uint32		offset;

	*is_new = false;
	if (record == NULL)
		return 0;
	offset = plh_profile_image_offset(image, record);
	*is_new = plh_dump_sites_name(&dump_sites, offset);
	return offset / 8;
}

/* Append the line of a context's name, unless there is one.  Returns its number. */
static uint32
emit_context(PlhDumpText *file, const PlhProfileImage *image,
			 const PlhStringRecord *context)
{
	bool		is_new;
	uint32		number = number_of(image, context, &is_new);

	if (is_new)
	{
		plh_dump_text_format(file, "# context");
		plh_dump_text_number(file, "number", number);
		plh_dump_text_value(file, "name", context->text, context->text_bytes);
		plh_dump_text_format(file, "\n");
	}
	return number;
}

/* Append the line of a statement likewise. */
static uint32
emit_statement(PlhDumpText *file, const PlhProfileImage *image,
			   const PlhStatementRecord *statement)
{
	bool		is_new;
	uint32		number = number_of(image, statement, &is_new);

	if (is_new)
	{
		plh_dump_text_format(file, "# statement");
		plh_dump_text_number(file, "number", number);
		plh_dump_text_number_unless(file, "query_id", statement->query_id, 0);
		if (statement->text_bytes > 0)
			plh_dump_text_value(file, "query", statement->text, statement->text_bytes);
		plh_dump_text_format(file, "\n");
	}
	return number;
}

/*
 * Append the line of a site that jeprof and pprof skip.  src/README says what a
 * field is taken for that is not there.
 */
static void
emit_site(PlhDumpText *file, const PlhProfileImage *image,
		  const PlhSiteFacts *facts)
{
	const PlhCounters *counters = facts->counters;
	uint32		context = emit_context(file, image, facts->context);
	uint32		statement = emit_statement(file, image, facts->statement);
	TimestampTz started_at = image->header->started_at;

	plh_dump_text_bytes(file, "# site", strlen("# site"));
	if (context != 0)
	{
		plh_dump_text_number(file, "context", context);
		plh_dump_text_format(file, " lifetime=%s", facts->lifetime);
	}
	plh_dump_text_number_unless(file, "statement", statement, 0);
	plh_dump_text_number_unless(file, "live_bytes", counters->live_bytes, 0);
	plh_dump_text_number_unless(file, "live_count", counters->live_count, 0);
	plh_dump_text_number_unless(file, "samples", counters->live_samples, 0);
	plh_dump_text_number_unless(file, "total_bytes", counters->total_bytes, counters->live_bytes);
	plh_dump_text_number_unless(file, "total_count", counters->total_count, counters->live_count);
	plh_dump_text_number_unless(file, "total_samples", counters->total_samples,
								counters->live_samples);
	if (counters->live_variance != 0)
		plh_dump_text_format(file, " variance=%.17g", counters->live_variance);
	plh_dump_text_number_unless(file, "peak_bytes", facts->peak_bytes, counters->live_bytes);
	plh_dump_text_number(file, "first_us", counters->first_at - started_at);
	plh_dump_text_number(file, "last_us", counters->last_at - started_at);
	plh_dump_text_number_unless(file, "truncated",
								facts->stack != NULL && facts->stack->truncated, 0);
	if (facts->has_baseline)
	{
		plh_dump_text_number(file, "baseline_bytes", facts->baseline_bytes);
		plh_dump_text_number(file, "baseline_count", facts->baseline_count);
	}
	plh_dump_text_bytes(file, "\n", 1);
}

static void
emit_address(PlhDumpText *file, uint64 address)
{
	plh_dump_text_bytes(file, " 0x", 3);
	plh_dump_text_digits(file, address, 16);
}

/*
 * Append the line of a stack, with the sums of its sites, which stand before
 * it.  Frames are return addresses minus one.  jeprof subtracts one from all
 * addresses but the first, pprof from all: with one added to all but the first,
 * every address lies within the call for both.
 */
static void
emit_stack(PlhDumpText *file, const PlhSiteFacts *facts,
		   const PlhCounters *counters)
{
	const PlhStackRecord *stack = facts->stack;

	emit_counters(file, counters);
	if (stack == NULL)
		emit_address(file, plh_dump_sites_stack(facts) == PLH_FORMER_STACKS ?
					 PLH_FORMER_STACKS_ADDRESS : PLH_NO_STACK_ADDRESS);
	else
	{
		for (uint32 i = 0; i < stack->depth; i++)
			emit_address(file,
						 plh_dump_addresses_of(&placement, stack->frames[i]) +
						 (i > 0 ? 1 : 0));
	}
	plh_dump_text_bytes(file, "\n", 1);
}

/* Append all sites, and behind those of one stack the stack. */
static void
emit_sites(PlhDumpText *file, const PlhProfileImage *image)
{
	PlhCounters of_stack = {0};
	PlhSiteFacts facts;
	PlhSiteFacts last = {0};
	bool		is_first = true;

	while (plh_dump_sites_next(&dump_sites, &facts))
	{
		if (!is_first &&
			plh_dump_sites_stack(&facts) != plh_dump_sites_stack(&last))
		{
			emit_stack(file, &last, &of_stack);
			memset(&of_stack, 0, sizeof(of_stack));
		}
		is_first = false;
		last = facts;
		emit_site(file, image, &facts);
		add_site(&of_stack, facts.counters);
	}
	if (!is_first)
		emit_stack(file, &last, &of_stack);
}

/* Append a path, whose control characters would end its line or the field. */
static void
emit_module_path(PlhDumpText *file, const char *path)
{
	for (; *path != '\0'; path++)
	{
		unsigned char c = *path;

		if (c < ' ' || c == 0x7F)
			plh_dump_text_format(file, "\\%03o", c);
		else
			plh_dump_text_bytes(file, path, 1);
	}
}

/* Append the modules in the form of /proc/PID/maps, with its escapes. */
static void
emit_modules(PlhDumpText *file, const PlhProfileImage *image)
{
	const PlhModuleRecord *module;

	plh_dump_text_format(file, "\nMAPPED_LIBRARIES:\n");
	for (uint32 index = 1;
		 (module = plh_profile_image_module(image, index)) != NULL;
		 index++)
	{
		uint64		start = placement.bases[index] + module->text_address;

		plh_dump_text_format(file, "%llx-%llx r-xp %08llx 00:00 0 ",
							 (unsigned long long) start,
							 (unsigned long long) (start + module->text_bytes),
							 (unsigned long long) module->text_file_offset);
		emit_module_path(file, module->path);
		plh_dump_text_format(file, "\n");
	}
}

/* Append the build-ids, which tell whether a module is still the same. */
static void
emit_module_facts(PlhDumpText *file, const PlhProfileImage *image)
{
	const PlhModuleRecord *module;

	for (uint32 index = 1;
		 (module = plh_profile_image_module(image, index)) != NULL;
		 index++)
	{
		plh_dump_text_format(file, "# module base=0x%llx build_id=",
							 (unsigned long long) placement.bases[index]);
		for (uint32 i = 0; i < module->build_id_bytes; i++)
			plh_dump_text_format(file, "%02x", module->build_id[i]);
		plh_dump_text_format(file, " text_address=%llu text_bytes=%llu file_offset=%llu seen_at_us=%lld",
							 (unsigned long long) module->text_address,
							 (unsigned long long) module->text_bytes,
							 (unsigned long long) module->text_file_offset,
							 unix_us(module->seen_at));
		plh_dump_text_value(file, "path", module->path, module->path_bytes);
		plh_dump_text_format(file, "\n");
	}
}

/*
 * Write a dump of the image to an open file.  Returns 0, or the errno of the
 * first failure.  *live_sites becomes the number of sites that hold something.
 */
int
plh_dump_writer_write(int fd, const PlhProfileImage *image,
					  const PlhDumpExtras *extras, uint32 *live_sites)
{
	PlhDumpText *file = &dump_text;
	DumpSums	sums;

	plh_dump_text_begin(file, fd);
	plh_dump_addresses_place(&placement, image);
	plh_dump_sites_open(&dump_sites, image, extras->baseline);
	sum_up(&dump_sites, &sums);
	if (extras->symbols_for_jeprof != NULL)
		plh_dump_text_bytes(file, extras->symbols_for_jeprof,
							strlen(extras->symbols_for_jeprof));
	emit_sums(file, &sums);
	emit_header(file, image, extras->reason);
	emit_numbers(file, image, &sums);
	emit_module_facts(file, image);
	if (extras->symbols != NULL)
		plh_dump_text_bytes(file, extras->symbols, strlen(extras->symbols));
	plh_dump_sites_rewind(&dump_sites);
	emit_sites(file, image);
	plh_dump_sites_close(&dump_sites);
	emit_modules(file, image);
	*live_sites = sums.live_sites;
	return plh_dump_text_end(file);
}
