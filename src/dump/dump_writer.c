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
#include "base/settings.h"
#include "base/whole_io.h"
#include "dump/dump_addresses.h"
#include "dump/dump_format.h"
#include "dump/dump_writer.h"
#include "profile/baseline.h"
#include "profile/profile_image.h"
#include "profile/site_facts.h"

/* The state of writing a file. */
typedef struct DumpFile
{
	int			fd;
	int			saved_errno;	/* of the first failure; 0: none */
	Size		used;			/* bytes in the buffer */
	char		buffer[16 * 1024];
} DumpFile;

/* The buffer is static, as an exiting process may be out of memory. */
static DumpFile dump_file;

static PlhPlacement placement;

static void
flush_file(DumpFile *file)
{
	if (file->saved_errno == 0 &&
		!plh_whole_io_write(file->fd, file->buffer, file->used,
							PLH_FILE_POSITION))
		file->saved_errno = errno;
	file->used = 0;
}

static void emit(DumpFile *file, const char *format,...) pg_attribute_printf(2, 3);

/* Append formatted text of at most a few thousand bytes. */
static void
emit(DumpFile *file, const char *format,...)
{
	va_list		args;
	Size		room;
	int			length;

	Assert(file->used <= sizeof(file->buffer));
	if (sizeof(file->buffer) - file->used < 4096)
		flush_file(file);
	room = sizeof(file->buffer) - file->used;
	va_start(args, format);
	length = vsnprintf(file->buffer + file->used, room, format, args);
	va_end(args);
	Assert(length >= 0 && length < room);
	if (length > 0)
		file->used += Min((Size) length, room - 1);
}

/* Append bytes as they are. */
static void
emit_bytes(DumpFile *file, const char *bytes, Size count)
{
	while (count > 0)
	{
		Size		part;

		if (file->used == sizeof(file->buffer))
			flush_file(file);
		part = Min(count, sizeof(file->buffer) - file->used);
		memcpy(file->buffer + file->used, bytes, part);
		file->used += part;
		bytes += part;
		count -= part;
	}
}

/*
 * Append " name=value".  White space, control characters and '%' of the value
 * become %XX, so that any value stays within its line.
 */
static void
emit_value(DumpFile *file, const char *name, const char *value, Size bytes)
{
	const char *end = value + bytes;

	emit(file, " %s=", name);
	while (value < end)
	{
		const char *plain = value;

		while (value < end && (unsigned char) *value > ' ' &&
			   *value != '%' && *value != 0x7F)
			value++;
		emit_bytes(file, plain, value - plain);
		if (value < end)
			emit(file, "%%%02X", (unsigned char) *value++);
	}
}

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
emit_counters(DumpFile *file, const PlhCounters *counters)
{
	emit(file, "%lld: %lld [%lld: %lld] @",
		 (long long) (counters->live_bytes > 0 ? counters->live_count : 0),
		 (long long) counters->live_bytes,
		 (long long) (counters->total_bytes > 0 ? counters->total_count : 0),
		 (long long) counters->total_bytes);
}

/*
 * Append line 1, the sums of the lines of the sites.  In the profile of a
 * process at work, the counters in the header may be one sample ahead of the
 * sites or behind them.
 */
static void
emit_sums(DumpFile *file, const PlhProfileImage *image)
{
	const PlhSiteRecord *site;
	PlhCounters sums = {0};
	uint32		position = 0;

	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		const PlhCounters *counters = &site->counters;

		if (counters->total_samples == 0)
			continue;
		sums.live_bytes += counters->live_bytes;
		sums.total_bytes += counters->total_bytes;
		if (counters->live_bytes > 0)
			sums.live_count += counters->live_count;
		if (counters->total_bytes > 0)
			sums.total_count += counters->total_count;
	}
	emit(file, "heap profile: ");
	emit_counters(file, &sums);
	emit(file, " heapprofile\n");
}

/* Append the number of sites that ever had a sample, and that of modules. */
static void
emit_numbers(DumpFile *file, const PlhProfileImage *image)
{
	const PlhSiteRecord *site;
	uint32		position = 0;
	uint32		sites = 0;
	uint32		modules = 0;

	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
		sites += site->counters.total_samples > 0;
	while (plh_profile_image_module(image, modules + 1) != NULL)
		modules++;
	emit(file, "# sites=%u modules=%u\n", sites, modules);
}

/* Append one of the fields about the process. */
static void
emit_field(DumpFile *file, const PlhDumpField *field,
		   const PlhProfileImage *image, const char *reason)
{
	const char *name = field->name;
	const void *value = (const char *) image->header + field->offset;

	switch (field->kind)
	{
		case PLH_FIELD_VERSION:
			emit(file, " %s=%d", name, PLH_DUMP_VERSION);
			break;
		case PLH_FIELD_REASON:
			emit(file, " %s=%s", name, reason);
			break;
		case PLH_FIELD_WRITTEN_AT:
			emit(file, " %s=%lld", name, unix_us(GetCurrentTimestamp()));
			break;
		case PLH_FIELD_BACKEND_TYPE:
			value = plh_profile_image_backend_type(image);
			emit_value(file, name, value, strlen(value));
			break;
		case PLH_FIELD_SCOPE:
			emit(file, " %s=%s", name,
				 plh_settings_scope_name(*(const uint32 *) value));
			break;
		case PLH_FIELD_PID:
		case PLH_FIELD_INT32:
			emit(file, " %s=%d", name, *(const int32 *) value);
			break;
		case PLH_FIELD_UINT32:
			emit(file, " %s=%u", name, *(const uint32 *) value);
			break;
		case PLH_FIELD_COUNT:
			emit(file, " %s=%lld", name, (long long) *(const int64 *) value);
			break;
		case PLH_FIELD_TIME:
			emit(file, " %s=%lld", name, unix_us(*(const TimestampTz *) value));
			break;
	}
}

/* Append the lines about the process. */
static void
emit_header(DumpFile *file, const PlhProfileImage *image, const char *reason)
{
	const PlhDumpField *first = plh_dump_format_process;

	for (const PlhDumpField *field = first; field->name != NULL; field++)
	{
		if (field->line_start != NULL)
			emit(file, "%s%s", field > first ? "\n" : "", field->line_start);
		emit_field(file, field, image, reason);
	}
	emit(file, "\n");
}

/* Append the line of a site that jeprof and pprof skip. */
static void
emit_site_facts(DumpFile *file, const PlhSiteFacts *facts)
{
	const PlhCounters *counters = facts->counters;
	const PlhStatementRecord *statement = facts->statement;

	emit(file, "#");
	if (facts->context != NULL)
	{
		emit_value(file, "context", facts->context->text,
				   facts->context->text_bytes);
		emit(file, " lifetime=%s", facts->lifetime);
	}
	if (statement != NULL && statement->query_id != 0)
		emit(file, " query_id=%lld", (long long) statement->query_id);
	emit(file, " live_count=%lld total_count=%lld samples=%lld total_samples=%lld error_bytes=%lld variance=%.17g peak_bytes=%lld first_at_us=%lld last_at_us=%lld truncated=%d",
		 (long long) counters->live_count, (long long) counters->total_count,
		 (long long) counters->live_samples,
		 (long long) counters->total_samples,
		 (long long) facts->error_bytes, counters->live_variance,
		 (long long) facts->peak_bytes,
		 unix_us(counters->first_at), unix_us(counters->last_at),
		 facts->stack != NULL && facts->stack->truncated ? 1 : 0);
	if (facts->has_baseline)
		emit(file, " baseline_bytes=%lld baseline_count=%lld",
			 (long long) facts->baseline_bytes,
			 (long long) facts->baseline_count);
	if (statement != NULL && statement->text_bytes > 0)
		emit_value(file, "query", statement->text, statement->text_bytes);
	emit(file, "\n");
}

/* Append " 0xADDRESS", not by snprintf: most of a file are addresses. */
static void
emit_address(DumpFile *file, uint64 address)
{
	char		text[sizeof(" 0x") + 16];
	int			start = sizeof(text);

	do
	{
		text[--start] = "0123456789abcdef"[address & 0xF];
		address >>= 4;
	} while (address != 0);
	text[--start] = 'x';
	text[--start] = '0';
	text[--start] = ' ';
	Assert(start >= 0);
	emit_bytes(file, text + start, sizeof(text) - start);
}

/*
 * Append the two lines of a site.  Frames are return addresses minus one.
 * jeprof subtracts one from all addresses but the first, pprof from all: with
 * one added to all but the first, every address lies within the call for both.
 */
static void
emit_site(DumpFile *file, const PlhSiteFacts *facts)
{
	const PlhStackRecord *stack = facts->stack;

	emit_site_facts(file, facts);
	emit_counters(file, facts->counters);
	if (stack == NULL)
		emit_address(file, PLH_NO_STACK_ADDRESS);
	else
	{
		for (uint32 i = 0; i < stack->depth; i++)
			emit_address(file,
						 plh_dump_addresses_of(&placement, stack->frames[i]) +
						 (i > 0 ? 1 : 0));
	}
	emit(file, "\n");
}

/* Append all sites that ever had samples.  Returns how many have live ones. */
static uint32
emit_sites(DumpFile *file, const PlhProfileImage *image,
		   const PlhBaseline *baseline)
{
	PlhSiteFacts facts;
	uint32		position = 0;
	uint32		live_sites = 0;

	while (plh_site_facts_next(&facts, image, baseline, &position))
	{
		if (facts.counters->live_count > 0)
			live_sites++;
		emit_site(file, &facts);
	}
	return live_sites;
}

/* Append a path, whose control characters would end its line or the field. */
static void
emit_module_path(DumpFile *file, const char *path)
{
	for (; *path != '\0'; path++)
	{
		unsigned char c = *path;

		if (c < ' ' || c == 0x7F)
			emit(file, "\\%03o", c);
		else
			emit_bytes(file, path, 1);
	}
}

/* Append the modules in the form of /proc/PID/maps, with its escapes. */
static void
emit_modules(DumpFile *file, const PlhProfileImage *image)
{
	const PlhModuleRecord *module;

	emit(file, "\nMAPPED_LIBRARIES:\n");
	for (uint32 index = 1;
		 (module = plh_profile_image_module(image, index)) != NULL;
		 index++)
	{
		uint64		start = placement.bases[index] + module->text_address;

		emit(file, "%llx-%llx r-xp %08llx 00:00 0 ",
			 (unsigned long long) start,
			 (unsigned long long) (start + module->text_bytes),
			 (unsigned long long) module->text_file_offset);
		emit_module_path(file, module->path);
		emit(file, "\n");
	}
}

/* Append the build-ids, which tell whether a module is still the same. */
static void
emit_module_facts(DumpFile *file, const PlhProfileImage *image)
{
	const PlhModuleRecord *module;

	for (uint32 index = 1;
		 (module = plh_profile_image_module(image, index)) != NULL;
		 index++)
	{
		emit(file, "# module base=0x%llx build_id=",
			 (unsigned long long) placement.bases[index]);
		for (uint32 i = 0; i < module->build_id_bytes; i++)
			emit(file, "%02x", module->build_id[i]);
		emit(file, " text_address=%llu text_bytes=%llu file_offset=%llu seen_at_us=%lld",
			 (unsigned long long) module->text_address,
			 (unsigned long long) module->text_bytes,
			 (unsigned long long) module->text_file_offset,
			 unix_us(module->seen_at));
		emit_value(file, "path", module->path, module->path_bytes);
		emit(file, "\n");
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
	DumpFile   *file = &dump_file;

	file->fd = fd;
	file->used = 0;
	file->saved_errno = 0;
	plh_dump_addresses_place(&placement, image);
	if (extras->symbols_for_jeprof != NULL)
		emit_bytes(file, extras->symbols_for_jeprof,
				   strlen(extras->symbols_for_jeprof));
	emit_sums(file, image);
	emit_header(file, image, extras->reason);
	emit_numbers(file, image);
	emit_module_facts(file, image);
	if (extras->symbols != NULL)
		emit_bytes(file, extras->symbols, strlen(extras->symbols));
	*live_sites = emit_sites(file, image, extras->baseline);
	emit_modules(file, image);
	flush_file(file);
	return file->saved_errno;
}
