/*
 * sql_source.c
 *	  The source that a function of SQL shows: a process, a dump file or all
 *	  processes together, as they are or as they have grown.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/timestamp.h"

#include "base/settings.h"
#include "dump/dump_directory.h"
#include "functions/sql_all.h"
#include "functions/sql_arguments.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "process/profile_directory.h"
#include "profile/baseline.h"
#include "reader/baseline_file.h"
#include "reader/profile_reader.h"
#include "reader/server_processes.h"
#include "report/site_list.h"
#include "sampler/owner.h"

PlhSource
plh_sql_source_of_process(FunctionCallInfo fcinfo, int growth, int peak)
{
	PlhSource	source = {0};

	plh_sql_rows_check_active();
	source.pid = plh_sql_rows_get_pid(fcinfo, 0);
	source.growth = plh_sql_arguments_flag(fcinfo, growth);
	source.peak = plh_sql_arguments_flag(fcinfo, peak);
	return source;
}

PlhSource
plh_sql_source_of_all(FunctionCallInfo fcinfo, int growth, int peak)
{
	PlhSource	source = {.all = true};

	plh_sql_rows_check_active();
	source.growth = plh_sql_arguments_flag(fcinfo, growth);
	source.peak = plh_sql_arguments_flag(fcinfo, peak);
	return source;
}

PlhSource
plh_sql_source_of_file(FunctionCallInfo fcinfo, int base, int peak)
{
	PlhSource	source = {0};

	plh_sql_rows_check_not_null(fcinfo, 0, "file");
	source.file = plh_sql_arguments_text(fcinfo, 0);
	source.base = plh_sql_arguments_text(fcinfo, base);
	source.peak = plh_sql_arguments_flag(fcinfo, peak);
	return source;
}

/* May the caller see what that process did? */
static bool
may_see(const PlhProfileHeader *header)
{
	return plh_sql_rows_may_see_all() || plh_sql_rows_may_see_role(header->role_oid);
}

/* The report to those who may not: the same for any file. */
static void
report_permission_denied(int level, const char *what, bool is_file)
{
	ereport(level,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied for %s", what),
			 errdetail("Only roles with privileges of the process' role or of \"%s\" may look at it.",
					   "pg_read_all_stats"),
			 is_file ?
			 errhint("Other roles are not told whether a file is missing or damaged.") : 0));
}

/*
 * Say at that level that the caller may not look at a process.
 */
void
plh_sql_source_deny_process(int pid, int level)
{
	report_permission_denied(level, psprintf("process %d", pid), false);
}

/*
 * The profile of a process.  NULL, after a report at that level, if there is no
 * such process, if the caller may not see it, or if it has no profile.
 */
PlhProfileImage *
plh_sql_source_process(int pid, int level)
{
	PlhProfileImage *image = NULL;

	plh_owner_publish();

	/* the header first: of a profile that is not for the caller that will do */
	for (int header_only = 1; pid > 0 && header_only >= 0; header_only--)
	{
		image = plh_profile_reader_find(plh_profile_directory_path(), pid,
										header_only);
		if (image != NULL && !may_see(image->header))
		{
			plh_sql_source_deny_process(pid, level);
			return NULL;
		}
	}
	if (image != NULL)
		return image;
	if (!plh_server_processes_has(pid))
		ereport(level,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("PID %d is not a PostgreSQL server process", pid),
				 errhint("pg_leakhunt_processes lists the processes.")));
	else
		ereport(level,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("process %d has no profile", pid),
				 plh_server_processes_loaded(pid) == PLH_NOT_LOADED ?
				 errdetail("It has not loaded pg_leakhunt.") :
				 errdetail("It has not kept enough samples yet."),
				 errhint("pg_leakhunt_processes tells the state of each process.")));
	return NULL;
}

/* Throw an ERROR for a pid in quotes, which PostgreSQL takes for a name. */
static void
check_is_no_pid(const char *file)
{
	Size		digits = strspn(file, "0123456789");

	if (digits == 0 || file[digits] != '\0')
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("\"%s\" is not the name of a dump file", file),
			 errhint("To look at the process with that pid, pass it as an integer, without quotes.")));
}

/*
 * The path of a dump, which users call by its name or as the server's log does.
 * Files elsewhere are only for those who may read all files of the server.
 */
static char *
path_of_dump(const char *file)
{
	const char *directory = plh_fixed.dump_directory;
	Size		length = strlen(directory);
	bool		in_directory;

	check_is_no_pid(file);
	if (strncmp(file, directory, length) == 0 && file[length] == '/' &&
		strchr(file + length + 1, '/') == NULL)
		file += length + 1;
	in_directory = strchr(file, '/') == NULL;
	if (!(in_directory && plh_dump_directory_is_dump(file)) &&
		!has_privs_of_role(GetUserId(), ROLE_PG_READ_SERVER_FILES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for file \"%s\"", file),
				 errdetail("Only roles with privileges of \"%s\" may read files that are no dumps in pg_leakhunt.dump_directory.",
						   "pg_read_server_files")));
	return in_directory ? psprintf("%s/%s", directory, file) : pstrdup(file);
}

/* Is that an ERROR about a file, which leaves nothing to clean up? */
static bool
is_about_file(int sqlerrcode)
{
	return sqlerrcode == ERRCODE_DATA_CORRUPTED ||
		sqlerrcode == ERRCODE_WRONG_OBJECT_TYPE ||
		sqlerrcode == ERRCODE_FEATURE_NOT_SUPPORTED ||
		sqlerrcode == ERRCODE_PROGRAM_LIMIT_EXCEEDED ||
		sqlerrcode == ERRCODE_UNDEFINED_FILE ||
		sqlerrcode == ERRCODE_INSUFFICIENT_PRIVILEGE ||
		sqlerrcode == ERRCODE_IO_ERROR;
}

/*
 * Read a file that may be anything, or gone; without looking at privileges.
 * NULL and what is wrong, if it is about the file.  All else is an ERROR
 * still, as there is no subtransaction that would clean up after it.
 */
PlhDump *
plh_sql_source_try_dump(const char *path, PlhDumpPart part, ErrorData **error)
{
	MemoryContext caller_context = CurrentMemoryContext;
	PlhDump    *volatile dump = NULL;

	PG_TRY();
	{
		dump = plh_dump_reader_read(path, part);
	}
	PG_CATCH();
	{
		if (!is_about_file(geterrcode()))
			PG_RE_THROW();
		MemoryContextSwitchTo(caller_context);
		*error = CopyErrorData();
		FlushErrorState();
	}
	PG_END_TRY();
	return dump;
}

/*
 * A dump that the caller may see, or a part of it.  Others are not told whether
 * there is one: a header at most is read for them, and what is missing or damaged
 * looks like what is not theirs.
 */
PlhDump *
plh_sql_source_dump(const char *file, PlhDumpPart part)
{
	char	   *path = path_of_dump(file);
	ErrorData  *error;
	PlhDump    *dump;

	if (plh_sql_rows_may_see_all())
		return plh_dump_reader_read(path, part);
	dump = plh_sql_source_try_dump(path, PLH_DUMP_HEADER, &error);
	if (dump != NULL && may_see(dump->image->header))
	{
		dump = plh_sql_source_try_dump(path, part, &error);
		if (dump == NULL)
			ReThrowError(error);
	}

	/* another file may have got its name meanwhile */
	if (dump == NULL || !may_see(dump->image->header))
		report_permission_denied(ERROR, psprintf("dump file \"%s\"", file), true);
	return dump;
}

/* The baseline that growth of a process is counted from. */
static PlhBaseline *
required_baseline(const PlhProfileImage *image)
{
	PlhBaseline *baseline =
		plh_baseline_file_read(plh_profile_directory_path(), image);

	if (baseline == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("there is no baseline of process %d",
						image->header->pid),
				 errhint("Growth is counted from the last call of pg_leakhunt_baseline.")));
	return baseline;
}

/* The sites of a process; NULL if it has none to show. */
static PlhSiteList *
sites_of_process(const PlhSource *source, PlhSymbols *symbols)
{
	PlhProfileImage *image =
		plh_sql_source_process(source->pid, source->required ? ERROR : WARNING);

	if (image == NULL)
		return NULL;
	return plh_site_list_make(symbols, image,
							  source->growth ? required_baseline(image) : NULL,
							  GetCurrentTimestamp());
}

/* The sites of a dump, all of them live. */
static PlhSiteList *
sites_of_dump(const char *file, PlhSymbols *symbols)
{
	PlhDump    *dump = plh_sql_source_dump(file, PLH_DUMP_SITES);

	return plh_site_list_make(symbols, dump->image, NULL, dump->written_at);
}

/*
 * The sites of what was asked for.  NULL, after a WARNING, if there is no such
 * process.
 */
PlhSiteList *
plh_sql_source_sites(const PlhSource *source)
{
	PlhSymbols *symbols = source->unnamed ? NULL : plh_symbols_open();
	PlhSiteList *list;

	if (source->peak && (source->growth || source->base != NULL))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot show growth and peak at once")));
	list = source->all ? plh_sql_all_sites(source, symbols) :
		source->file == NULL ? sites_of_process(source, symbols) :
		sites_of_dump(source->file, symbols);
	if (list != NULL && source->peak && !source->keeps_values)
		plh_site_list_take_peak(list);
	if (source->base != NULL)
		plh_site_list_subtract(list, sites_of_dump(source->base, symbols));
	return list;
}
