/*
 * sql_dumps.c
 *	  The functions of SQL that write dumps, list them and return them.
 */
#include "postgres.h"

#include <sys/stat.h>

#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "base/limits.h"
#include "base/settings.h"
#include "dump/dump.h"
#include "dump/dump_directory.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "process/crash_dumps.h"
#include "process/dump_report.h"
#include "process/process.h"
#include "process/profile_directory.h"
#include "reader/baseline_file.h"
#include "report/death_text.h"
#include "report/dump_symbols.h"

#define DUMP_COLUMNS 14

PLH_FUNCTION(pg_leakhunt_dump);
PLH_FUNCTION(pg_leakhunt_dump_file);
PLH_FUNCTION(pg_leakhunt_dumps);

/*
 * pg_leakhunt_dump(pid, symbolized): write a dump of a process, which has no
 * part in it.  Returns the name of the file.
 */
Datum
pg_leakhunt_dump(PG_FUNCTION_ARGS)
{
	PlhProfileImage *image;
	PlhDumpExtras extras = {.reason = "manual"};
	PlhDumpResult result;
	int			pid;

	plh_sql_rows_check_arguments(fcinfo, 2);
	plh_sql_rows_check_active();
	pid = plh_sql_rows_get_pid(fcinfo, 0);
	plh_crash_dumps_save_some();
	image = plh_sql_source_process(pid, WARNING);
	if (image == NULL)
		PG_RETURN_NULL();
	extras.baseline = plh_baseline_file_read(plh_profile_directory_path(),
											 image);
	if (!PG_ARGISNULL(1) && PG_GETARG_BOOL(1))
		plh_dump_symbols_make(plh_symbols_open(), image, &extras);
	(void) plh_dump_write(image, &extras, true, &result);
	plh_dump_report(&result, ERROR);
	PG_RETURN_TEXT_P(cstring_to_text(strrchr(result.path, '/') + 1));
}

/*
 * pg_leakhunt_dump_file(file): the bytes of a dump.  Its texts are in the encoding
 * of the process that it is of, which the caller's need not be: hence bytea.
 */
Datum
pg_leakhunt_dump_file(PG_FUNCTION_ARGS)
{
	char	   *file;
	PlhDump    *dump;

	plh_sql_rows_check_arguments(fcinfo, 1);
	plh_sql_rows_check_not_null(fcinfo, 0, "file");
	file = text_to_cstring(PG_GETARG_TEXT_PP(0));
	dump = plh_sql_source_dump(file, PLH_DUMP_TEXT);
	if (dump->text_bytes > MaxAllocSize - VARHDRSZ)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("dump file \"%s\" is too large for a value", file),
				 errdetail("It has %zu bytes, and a value has %zu at most.",
						   dump->text_bytes, (Size) MaxAllocSize - VARHDRSZ),
				 errhint("Read it in parts by pg_read_binary_file.")));
	PG_RETURN_BYTEA_P((bytea *) cstring_to_text_with_len(dump->text,
														 dump->text_bytes));
}

/* One row of pg_leakhunt_dumps, unless the caller may not see it. */
static void
put_dump(const char *name, const PlhDump *dump, const struct stat *status,
		 PlhRowSink *sink)
{
	const PlhProfileHeader *header = dump->image->header;
	PlhRow		row = {0};

	if (!plh_sql_rows_may_show(sink, header))
		return;
	plh_sql_rows_put_text(&row, name);
	plh_sql_rows_put_pid(&row, header->pid);
	plh_sql_rows_put_backend_type(&row, dump->image);
	plh_sql_rows_put_role(&row, header->role_oid);
	plh_sql_rows_put_database(&row, header->database_oid);
	plh_sql_rows_put_application(&row, dump->image);
	plh_sql_rows_put_text(&row, dump->reason);
	plh_sql_rows_put_time(&row, dump->written_at);
	plh_sql_rows_put_int64(&row, status->st_size);
	plh_sql_rows_put_int64(&row, header->counters.live_bytes);
	plh_sql_rows_put_int64(&row, header->counters.live_count);
	plh_sql_rows_put_int64(&row, header->peak_bytes);
	plh_sql_rows_put_time(&row, header->death.at);
	plh_sql_rows_put_text(&row, plh_death_text(&header->death));
	plh_sql_rows_finish(&row, sink);
}

/* The WARNING that says why a file is left out. */
static void
warn_of_file(const char *path, const ErrorData *error)
{
	ereport(WARNING,
			(errmsg("ignoring file \"%s\"", path),
			 errdetail_internal("%s%s%s", error->message,
								error->detail != NULL ? ": " : "",
								error->detail != NULL ? error->detail : "")));
}

/*
 * Look at a file; what can't be read, or is no dump, is a WARNING for those
 * who may see all dumps.  What is gone by now, or is no file, is nothing.
 */
static void
visit_dump(const char *name, PlhRowSink *sink)
{
	MemoryContext file_context = AllocSetContextCreate(CurrentMemoryContext,
													   "pg_leakhunt dump",
													   ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller_context = MemoryContextSwitchTo(file_context);
	struct stat status = {0};
	char		path[PLH_PATH_MAX];
	ErrorData  *error;
	PlhDump    *dump;

	snprintf(path, sizeof(path), "%s/%s", plh_fixed.dump_directory, name);
	if (lstat(path, &status) != 0 || S_ISREG(status.st_mode))
	{
		dump = plh_sql_source_try_dump(path, PLH_DUMP_HEADER, &error);
		if (dump != NULL)
			put_dump(name, dump, &status, sink);
		else if (sink->sees_all && error->sqlerrcode != ERRCODE_UNDEFINED_FILE)
			warn_of_file(path, error);
	}
	MemoryContextSwitchTo(caller_context);
	MemoryContextDelete(file_context);
}

/*
 * All dump files: the rows of pg_leakhunt_dumps.
 */
Datum
pg_leakhunt_dumps(PG_FUNCTION_ARGS)
{
	PlhRowSink	sink;
	DIR		   *dir;
	struct dirent *entry;

	plh_sql_rows_start_silently(fcinfo, &sink, DUMP_COLUMNS);
	if (plh_process_refusal() == NULL)
		plh_crash_dumps_save_some();
	dir = AllocateDir(plh_fixed.dump_directory);
	if (dir == NULL && (errno == ENOENT || !sink.sees_all))
		return (Datum) 0;
	while ((entry = ReadDir(dir, plh_fixed.dump_directory)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (plh_dump_directory_is_dump(entry->d_name))
			visit_dump(entry->d_name, &sink);
	}
	FreeDir(dir);
	return (Datum) 0;
}
