/*
 * exit_report.c
 *	  Says in the server's log what a process held when it exited.
 *
 * One line has all that tells whether somebody should look at the dump, as it is
 * often all that is read.  What is held at an exit are caches as well as leaks:
 * the line calls it neither.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "utils/timestamp.h"

#include "base/page_layout.h"
#include "base/size_units.h"
#include "process/exit_report.h"
#include "process/identity.h"

/* Room for the line: a path, three names, two sites and contexts, figures. */
#define LINE_BYTES 4096

/* A statement is shown up to these bytes. */
#define SHOWN_STATEMENT_BYTES 200

/*
 * Samples that were this part of the private memory, each at its peak, tell what
 * that peak was of: a reallocation has both chunks for a moment.
 */
#define PEAK_PART 4

/* The line, which grows at its end. */
typedef struct Line
{
	int			used;
	char		text[LINE_BYTES];
} Line;

static void append(Line *line, const char *format,...) pg_attribute_printf(2, 3);

/* Append formatted text, or what of it finds room. */
static void
append(Line *line, const char *format,...)
{
	int			room = sizeof(line->text) - line->used;
	int			length;
	va_list		args;

	va_start(args, format);
	length = vsnprintf(line->text + line->used, room, format, args);
	va_end(args);
	if (length > 0)
		line->used += Min(length, room - 1);
}

/* Append a name, if it is known. */
static void
append_name(Line *line, const char *what, const char *name)
{
	if (name != NULL)
		append(line, ", %s \"%s\"", what, name);
}

/* Append the type of the process and whom it worked for. */
static void
append_process(Line *line, const PlhProfileImage *image)
{
	append(line, "%s", plh_profile_image_backend_type(image));
	append_name(line, "user", plh_identity_username());
	append_name(line, "database", plh_identity_database());
	append_name(line, "application", plh_identity_application());
}

/* Append the site that has most of what was just named, which may not be much. */
static void
append_top(Line *line, const PlhProfileImage *image, const PlhTopSite *top)
{
	char		name[PLH_SITE_NAME_BYTES];

	append(line, ", ~%s of it by %s in %s",
		   plh_size_units(top->bytes).text,
		   plh_top_site_name(top, image, name, sizeof(name)),
		   top->context != NULL ? top->context->text : "[no context]");
}

/* Append what is live, with its error. */
static void
append_held(Line *line, const PlhExitFindings *findings)
{
	const PlhProfileHeader *header = findings->image->header;
	int64		live_bytes = header->counters.live_bytes;
	int64		error_bytes = (int64) plh_profile_image_live_error_bytes(header);

	append(line, ": ~%s +/- %s held at exit, caches included",
		   plh_size_units(live_bytes).text, plh_size_units(error_bytes).text);
	if (findings->held.bytes > 0)
		append_top(line, findings->image, &findings->held);
}

/* Append a time, to the second. */
static void
append_time(Line *line, TimestampTz at)
{
	append(line, " at %s", timestamptz_to_str(at - at % USECS_PER_SEC));
}

/*
 * Append the peak of what was live, with the site that had most then, unless that
 * was said.
 */
static void
append_peak(Line *line, const PlhExitFindings *findings, const PlhTopSite *peak)
{
	const PlhProfileHeader *header = findings->image->header;

	if (header->peak_bytes <= 0)
		return;
	append(line, "; peak ~%s", plh_size_units(header->peak_bytes).text);
	append_time(line, header->peak_at);
	if (peak->bytes > 0 && !plh_top_site_is_same(peak, &findings->held))
		append_top(line, findings->image, peak);
}

/* Append the private memory, where the kernel has told it. */
static void
append_private_memory(Line *line, const PlhProfileHeader *header)
{
	if (header->own_bytes <= 0)
		return;
	append(line, "; private memory %s, the most that was counted %s",
		   plh_size_units(header->own_bytes).text,
		   plh_size_units(header->own_peak_bytes).text);
	append_time(line, header->own_peak_at);
}

/* Append what the private memory was when that was counted last. */
static void
append_counts(Line *line, const PlhProfileHeader *header)
{
	if (header->census_at == 0)
		return;
	append(line, "; last counted: contexts %s",
		   plh_size_units(header->context_bytes).text);
	if (header->malloc_bytes >= 0)
		append(line, ", malloc %s and %s free",
			   plh_size_units(header->malloc_bytes).text,
			   plh_size_units(header->malloc_free_bytes).text);
}

/* Append the file, if it was written. */
static void
append_file(Line *line, const PlhDumpResult *dump)
{
	if (dump->failure == 0)
		append(line, "; >= %u call sites in \"%s\"", dump->sites, dump->path);
}

/*
 * The detail of the report: the statement behind the site that has most, cut to a
 * length that a log can bear.
 */
static int
errdetail_of_statement(const PlhTopSite *top)
{
	const PlhStatementRecord *statement = top->statement;
	int			bytes;

	if (statement == NULL || statement->text_bytes == 0)
		return 0;
	bytes = pg_mbcliplen(statement->text, statement->text_bytes,
						 SHOWN_STATEMENT_BYTES);
	if (top->statements > 1)
		return errdetail("Statement, that with most of %u: %.*s",
						 top->statements, bytes, statement->text);
	return errdetail("Statement: %.*s", bytes, statement->text);
}

/* Was the peak that of what was sampled, rather than of what malloc or others had? */
static bool
peak_is_sampled(const PlhProfileHeader *header)
{
	return header->peak_bytes >= header->own_peak_bytes / PEAK_PART;
}

/*
 * Report a process that is worth it.  The peak's site is looked for only where the
 * peak is a reason: it is often that of a moment.
 */
void
plh_exit_report(const PlhExitFindings *findings, const PlhDumpResult *dump)
{
	/* an exiting process may be out of memory */
	static PLH_LARGE Line line;
	const PlhProfileHeader *header = findings->image->header;
	PlhTopSite	peak = {0};

	if (findings->had_much && peak_is_sampled(header))
		(void) plh_top_site_find(&peak, findings->image, PLH_TOP_PEAK);
	line.used = 0;
	append_process(&line, findings->image);
	append_held(&line, findings);
	append_peak(&line, findings, &peak);
	append_private_memory(&line, header);
	append_counts(&line, header);
	append_file(&line, dump);
	ereport(LOG,
			(errmsg("leak approximation summary: %s", line.text),
			 errdetail_of_statement(findings->holds_much ?
									&findings->held : &peak)));
}
