/*
 * dump_header.c
 *	  The first lines of a dump: the sums of line 1, and the process.
 *
 * dump_format.c names the fields.
 */
#include "postgres.h"

#include "base/settings.h"
#include "dump/dump_format.h"
#include "reader/dump_header.h"

/* Parse line 1, which has the sums of all sites. */
static void
parse_first_line(PlhDumpLines *lines, PlhDumpHeader *dump)
{
	const char *start = "heap profile: ";
	const char *rest;

	plh_dump_lines_need(lines, start);
	rest = plh_dump_lines_figures(lines->line + strlen(start), dump->figures);
	if (rest == NULL || strcmp(rest, "heapprofile") != 0)
		plh_dump_lines_damaged(lines, "It is not that of a heap profile.");
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

/* Read a field whose value is a word for how a process ended. */
static uint32
parse_death(const PlhDumpLines *lines, const char *name)
{
	char	   *word = plh_dump_lines_text(lines, name);
	uint32		kind = PLH_DEATH_UNKNOWN;

	while (strcmp(plh_dump_format_deaths[kind], word) != 0)
	{
		if (++kind == PLH_DEATH_KINDS)
			plh_dump_lines_damaged(lines, "There is no death \"%s\".", word);
	}
	return kind;
}

/* Parse one of the fields about the process, which is in the current line. */
static void
parse_field(const PlhDumpLines *lines, const PlhDumpField *field,
			PlhDumpHeader *dump, PlhProfileHeader *header)
{
	const char *name = field->name;
	void	   *value = (char *) header + field->offset;

	switch (field->kind)
	{
		case PLH_FIELD_VERSION:
			check_version(lines, name);
			break;
		case PLH_FIELD_FILE_BYTES:
			dump->file_bytes = plh_dump_lines_count(lines, name);
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
		case PLH_FIELD_NAME:
			strlcpy(value, plh_dump_lines_text(lines, name), PLH_NAME_MAX);
			break;
		case PLH_FIELD_DEATH:
			*(uint32 *) value = parse_death(lines, name);
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
		case PLH_FIELD_COUNT_IF_KNOWN:
			*(int64 *) value = plh_dump_lines_number(lines, name, -1,
													 PG_INT64_MAX);
			break;
		case PLH_FIELD_TIME:
			*(TimestampTz *) value = plh_dump_lines_time(lines, name);
			break;
	}
}

/* Parse the lines about the process. */
static void
parse_process(PlhDumpLines *lines, PlhDumpHeader *dump,
			  PlhProfileHeader *header)
{
	for (const PlhDumpField *field = plh_dump_format_process;
		 field->name != NULL; field++)
	{
		if (field->line_start != NULL)
			plh_dump_lines_need(lines, psprintf("%s %s=", field->line_start,
												field->name));
		parse_field(lines, field, dump, header);
	}
}

/*
 * Parse the lines up to those of the modules: what they say of the dump, and,
 * into the header of a profile, what they say of the process.
 */
void
plh_dump_header_parse(PlhDumpLines *lines, PlhDumpHeader *dump,
					  PlhProfileHeader *header)
{
	parse_first_line(lines, dump);
	parse_process(lines, dump, header);
}

/*
 * Throw an ERROR unless the file has the size that it says, and the sites the
 * sums of line 1.
 */
void
plh_dump_header_check(PlhDumpLines *lines, const PlhDumpHeader *dump,
					  const int64 *sums)
{
	if (memcmp(sums, dump->figures, sizeof(dump->figures)) != 0)
	{
		lines->number = 1;
		plh_dump_lines_damaged(lines, "The sites add up to %lld: %lld [%lld: %lld].",
							   (long long) sums[0], (long long) sums[1],
							   (long long) sums[2], (long long) sums[3]);
	}
	if (lines->file_bytes != dump->file_bytes)
		plh_dump_lines_damaged(lines, "The file has %lld bytes instead of %lld.",
							   (long long) lines->file_bytes,
							   (long long) dump->file_bytes);
}
