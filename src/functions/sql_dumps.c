/*
 * sql_dumps.c
 *	  The functions of SQL that write dumps, list them and return them.
 */
#include "postgres.h"

#include <sys/stat.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/limits.h"
#include "base/settings.h"
#include "crash/crash_dumps.h"
#include "dump/dump_report.h"
#include "dump/dump_retention.h"
#include "dump/heap_text.h"
#include "functions/sql_arguments.h"
#include "functions/sql_access.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "process/dump_texts.h"
#include "process/process.h"
#include "process/profile_directory.h"
#include "profile/dump_names.h"
#include "reader/baseline_file.h"
#include "reader/database_text.h"
#include "reader/frame_names.h"
#include "report/death_text.h"
#include "report/dump_symbols.h"

PLH_FUNCTION(pg_leakhunt_dump);
PLH_FUNCTION(pg_leakhunt_dump_file);
PLH_FUNCTION(pg_leakhunt_dumps);
PLH_FUNCTION(pg_leakhunt_heap);

/* Look up the names of functions, for a dump and for texts of the image. */
static void
add_names(PlhProfileImage *image, PlhDumpExtras *extras)
{
	plh_dump_symbols_make(plh_symbols_open(), image, extras);
	image->names = plh_frame_names_read(extras->names, extras->names_bytes);
}

/*
 * pg_leakhunt_dump(pid, symbolized): write a dump of a process, which has no part in it.  Returns
 * the name of the file.
 */
Datum
pg_leakhunt_dump(PG_FUNCTION_ARGS)
{
	PlhProfileImage *image;
	PlhDumpExtras extras = {.reason = "manual",.sync = true};
	PlhDumpResult result;
	int			pid = plh_sql_source_pid(fcinfo, 2);

	plh_crash_dumps_save_some(plh_sql_access_sees_all());
	image = plh_sql_source_process(pid);
	if (image == NULL)
		PG_RETURN_NULL();
	extras.baseline = plh_baseline_file_read(plh_profile_directory_path(), image);
	if (plh_sql_arguments_flag(fcinfo, 1))
		add_names(image, &extras);
	(void) plh_dump_copy_write(image, &extras, &result);
	plh_dump_report(&result, ERROR);
	(void) plh_dump_texts_write(result.path, image, extras.reason, GetCurrentTimestamp());
	plh_dump_report_removal(plh_dump_retention_trim());
	PG_RETURN_TEXT_P(cstring_to_text(strrchr(result.path, '/') + 1));
}

/*
 * pg_leakhunt_dump_file(file): the bytes of a dump.
 */
Datum
pg_leakhunt_dump_file(PG_FUNCTION_ARGS)
{
	char	   *file;
	PlhDump    *dump;

	plh_sql_rows_check_arguments(fcinfo, 1);
	file = plh_sql_arguments_required_text(fcinfo, 0, "file");
	dump = plh_sql_source_dump(file, false);
	if (dump->byte_count > MaxAllocSize - VARHDRSZ)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("dump file \"%s\" is too large for a bytea value", file),
						errdetail("It has %zu bytes; the maximum is %zu.",
								  dump->byte_count, (Size) MaxAllocSize - VARHDRSZ),
						errhint("Read it in parts with pg_read_binary_file.")));
	PG_RETURN_BYTEA_P((bytea *) cstring_to_text_with_len(dump->bytes, dump->byte_count));
}

/*
 * Write the text of a profile into memory that is freed when it has been turned into one of this
 * database.
 */
static text *
make_heap_text(const PlhProfileImage *image, const char *reason, TimestampTz written_at)
{
	char	   *bytes = NULL;
	size_t		count = 0;
	FILE	   *file = open_memstream(&bytes, &count);
	int			failure = file == NULL ? ENOMEM :
		plh_heap_text_write(file, image, reason, written_at);
	text	   *result = NULL;

	if (file != NULL && fclose(file) != 0)
		failure = ENOMEM;
	PG_TRY();
	{
		if (failure != 0)
			ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
							errdetail("The text of the profile of process %d does not fit.",
									  image->header->pid)));
		result = cstring_to_text(plh_database_text_fit_foreign(bytes, count,
															   image->header->encoding));
	}
	PG_FINALLY();
	{
		free(bytes);
	}
	PG_END_TRY();
	return result;
}

/* The text of what the arguments name, with names of functions if argument 1 asks for them. */
static Datum
return_heap(FunctionCallInfo fcinfo)
{
	PlhTarget	target = plh_sql_source_target(fcinfo, 3);
	PlhSourceProfile profile;
	PlhDumpExtras extras = {0};
	const PlhDump *dump;

	plh_sql_source_check_target(&target);
	if (!plh_sql_source_profile(&profile, &target))
		PG_RETURN_NULL();
	dump = profile.dump;
	if (plh_sql_arguments_flag(fcinfo, 1) && profile.image->names == NULL)
		add_names(profile.image, &extras);
	PG_RETURN_TEXT_P(make_heap_text(profile.image, dump == NULL ? NULL : dump->reason,
									dump == NULL ? GetCurrentTimestamp() : dump->written_at));
}

/*
 * pg_leakhunt_heap(target, symbolized, redact): the text for jeprof and pprof of a process, or that
 * of a dump.
 */
Datum
pg_leakhunt_heap(PG_FUNCTION_ARGS)
{
	return plh_sql_rows_redacted(fcinfo, return_heap);
}

/* One row of pg_leakhunt_dumps, unless the caller may not see it. */
static void
put_dump(const char *name, const PlhDump *dump, const struct stat *status, PlhRowSink *sink)
{
	const PlhProfileHeader *header = dump->image->header;

	/* OIDs of another cluster that shares the directory are not ours */
	bool		is_ours = plh_sql_access_is_of_cluster(header);
	PlhRow		row = {0};

	if (!plh_sql_access_shows(sink->sees_all, header))
		return;

#include "functions/columns/dumps.def"
	plh_sql_rows_finish(&row, sink);
}

/*
 * Look at a file; what can't be read, or is no dump, is a WARNING for those who may see all dumps.
 * What is gone by now, or is no file, is nothing.
 */
static void
visit_dump(const char *name, PlhRowSink *sink)
{
	MemoryContext file_context = AllocSetContextCreate(CurrentMemoryContext, "pg_leakhunt dump",
													   ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller_context = MemoryContextSwitchTo(file_context);
	struct stat status = {0};
	char		path[PLH_PATH_MAX];
	ErrorData  *error;
	PlhDump    *dump;

	snprintf(path, sizeof(path), "%s/%s", plh_load_settings.dump_directory, name);
	if (lstat(path, &status) != 0 || S_ISREG(status.st_mode))
	{
		dump = plh_sql_source_try_dump(path, true, &error);
		if (dump != NULL)
			put_dump(name, dump, &status, sink);
		else if (sink->sees_all && error->sqlerrcode != ERRCODE_UNDEFINED_FILE)
			ereport(WARNING, (errmsg("ignoring file \"%s\"", path),
							  errdetail_internal("%s%s%s", error->message,
												 error->detail != NULL ? ": " : "",
												 error->detail != NULL ? error->detail : "")));
	}
	MemoryContextSwitchTo(caller_context);
	MemoryContextDelete(file_context);
}

Datum
pg_leakhunt_dumps(PG_FUNCTION_ARGS)
{
	PlhRowSink	sink;
	DIR		   *dir;
	struct dirent *entry;

	plh_sql_rows_start(fcinfo, &sink);
	if (plh_process_refusal() == NULL)
		plh_crash_dumps_save_some(sink.sees_all);
	dir = AllocateDir(plh_load_settings.dump_directory);
	if (dir == NULL && (errno == ENOENT || !sink.sees_all))
		return (Datum) 0;
	while ((entry = ReadDir(dir, plh_load_settings.dump_directory)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (plh_dump_names_is_dump(entry->d_name))
			visit_dump(entry->d_name, &sink);
	}
	FreeDir(dir);
	return (Datum) 0;
}
