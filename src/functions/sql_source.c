/*
 * sql_source.c
 *	  What a function of SQL looks at, its target: a process, a dump file or all processes
 *	  together; and what is done before profiles are looked at.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "base/settings.h"
#include "crash/crash_dumps.h"
#include "functions/sql_access.h"
#include "functions/sql_arguments.h"
#include "functions/sql_moment.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "process/process.h"
#include "process/profile_directory.h"
#include "profile/baseline.h"
#include "profile/dump_names.h"
#include "reader/baseline_file.h"
#include "reader/profile_merge.h"
#include "reader/profile_reader.h"
#include "reader/server_processes.h"
#include "sampler/publication.h"
#include "telling/suppression_table.h"

/* Say if the directory of the profiles, which was there once, is gone. */
static void
report_missing_directory(void)
{
	if (plh_process_refusal() == NULL && plh_profile_directory_is_gone())
		ereport(WARNING, (errmsg("profile directory \"%s\" was removed",
								 plh_profile_directory_path()),
						  errdetail("Each process creates it again, and is shown again, at its next sample.")));
}

/*
 * Say once in a session, as each query would, that a role does not see the processes of others.
 */
static void
report_hidden_roles(void)
{
	static bool noticed = false;

	if (noticed || plh_sql_access_sees_all() || !plh_sql_access_hides_roles())
		return;
	noticed = true;
	ereport(NOTICE, (errmsg("pg_leakhunt shows only processes of roles whose privileges you have"),
					 errhint("Roles with privileges of \"%s\", such as members of \"%s\", see all processes.",
							 "pg_read_all_stats", "pg_monitor")));
}

/*
 * Say, where it is so, that there is less to see than the caller may think.
 */
static void
report_coverage(void)
{
	static bool noticed = false;

	if (plh_process_refusal() != NULL)
		ereport(WARNING, (errmsg("pg_leakhunt is inactive in this session"),
						  errdetail_internal("%s", plh_process_refusal())));
	else if (!plh_process_is_preloaded() && !noticed)
	{
		noticed = true;
		ereport(NOTICE, (errmsg("pg_leakhunt shows only processes that have loaded it"),
						 errdetail("No background worker watches them: findings are not logged."),
						 errhint("Add pg_leakhunt to shared_preload_libraries and restart the server to see all processes.")));
	}
	report_hidden_roles();
	report_missing_directory();
}

void
plh_sql_source_check_active(void)
{
	if (plh_process_refusal() != NULL)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("pg_leakhunt is inactive in this session"),
						errdetail_internal("%s", plh_process_refusal())));
}

/*
 * Say what can't be seen, publish the profile of this session, so that a session that looks at
 * itself sees itself, and save dumps of processes that crashed, which takes up to a second.
 * Returns false where nothing is sampled.
 */
bool
plh_sql_source_publish_and_save(void)
{
	report_coverage();
	if (plh_process_refusal() != NULL)
		return false;
	plh_publication_publish();
	plh_crash_dumps_save_some(plh_sql_access_sees_all());
	return true;
}

/*
 * Is argument 0 a pid?  Asked of the catalog, as a call by the fast path has no expression that
 * would tell.
 */
static bool
names_process(FunctionCallInfo fcinfo)
{
	Oid		   *types;
	int			count;

	(void) get_func_signature(fcinfo->flinfo->fn_oid, &types, &count);
	return count > 0 && types[0] == INT4OID;
}

/*
 * Get the target that argument 0 names.  Null names nothing, and must never mean all processes: a
 * subquery that finds no row gives it.
 */
PlhTarget
plh_sql_source_target(FunctionCallInfo fcinfo, int arguments)
{
	PlhTarget	target = {0};
	bool		is_pid;

	plh_sql_rows_check_arguments(fcinfo, arguments);
	is_pid = names_process(fcinfo);
	if (PG_ARGISNULL(0))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("%s must not be null", is_pid ? "pid" : "target"),
						errhint("A subquery that finds no row gives null.")));
	if (is_pid)
		target.pid = PG_GETARG_INT32(0);
	else
		target.file = text_to_cstring(PG_GETARG_TEXT_PP(0));
	if (!is_pid && strcmp(target.file, "all") == 0)
		target = (PlhTarget)
	{
		.all = true
	};
	return target;
}

/*
 * Get the pid that argument 0 is, of a function with that many arguments, which acts on a process.
 * Null is no process, and must never mean all of them.
 */
int
plh_sql_source_pid(FunctionCallInfo fcinfo, int arguments)
{
	plh_sql_rows_check_arguments(fcinfo, arguments);
	plh_sql_source_check_active();
	if (PG_ARGISNULL(0))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("pid must not be null"),
						errhint("A subquery that finds no row gives null.")));
	return PG_GETARG_INT32(0);
}

void
plh_sql_source_check_target(const PlhTarget *target)
{
	if (target->file == NULL)
		plh_sql_source_check_active();
}

PlhSuppressions *
plh_sql_source_suppressions(FunctionCallInfo fcinfo)
{
	Oid			schema = get_func_namespace(fcinfo->flinfo->fn_oid);

	return plh_suppression_table_read(get_namespace_name(schema));
}

/* May the caller see what that process did? */
static bool
may_see(const PlhProfileHeader *header)
{
	return plh_sql_access_shows(plh_sql_access_sees_all(), header);
}

/* The report to those who may not: the same for any file. */
static void
report_permission_denied(int level, const char *what, bool is_file)
{
	ereport(level, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					errmsg("permission denied for %s", what),
					errdetail("Only roles with privileges of the process' role or of \"%s\" may see it.",
							  "pg_read_all_stats"),
					is_file ?
					errhint("Other roles are not told whether a file is missing or damaged.") : 0));
}

/*
 * Say that the caller may not look at a process.
 */
void
plh_sql_source_deny_process(int pid)
{
	report_permission_denied(WARNING, psprintf("process %d", pid), false);
}

/* Say why a process has no profile to look at. */
static void
report_unprofiled(int pid)
{
	const char *failure;
	const char *hint = NULL;

	if (!plh_server_processes_has(pid))
	{
		ereport(WARNING, (errcode(ERRCODE_UNDEFINED_OBJECT),
						  errmsg("PID %d is not a PostgreSQL server process", pid),
						  errhint("pg_leakhunt_processes lists the processes.")));
		return;
	}
	failure = plh_profile_directory_failure(pid, &hint);
	ereport(WARNING, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					  errmsg("process %d has no profile", pid),
					  plh_server_processes_loaded(pid) == PLH_NOT_LOADED ?
					  errdetail("It has not loaded pg_leakhunt.") :
					  failure != NULL ? errdetail_internal("%s", failure) :
					  errdetail("It has not kept enough samples yet."),
					  failure != NULL ? errhint("%s", hint) :
					  errhint("SELECT pg_leakhunt_explain(%d) tells what is known of it.", pid)));
}

/*
 * The profile of a process.  NULL, after a WARNING, if there is no such process, if the caller may
 * not see it, or if it has no profile.
 */
PlhProfileImage *
plh_sql_source_process(int pid)
{
	PlhProfileImage *image = NULL;

	plh_publication_publish();
	plh_sql_moment_of(pid);

	/* the header first: of a profile that is not for the caller that will do */
	for (int header_only = 1; pid > 0 && header_only >= 0; header_only--)
	{
		image = plh_profile_reader_find(plh_profile_directory_path(), pid, header_only);
		if (image != NULL && !may_see(image->header))
		{
			plh_sql_source_deny_process(pid);
			return NULL;
		}
	}
	if (image != NULL)
		return image;
	report_unprofiled(pid);
	return NULL;
}

/* Throw an ERROR for a pid in quotes, which PostgreSQL takes for a name. */
static void
check_is_no_pid(const char *file)
{
	Size		digits = strspn(file, "0123456789");

	if (digits == 0 || file[digits] != '\0')
		return;
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("\"%s\" is not the name of a dump file", file),
					errhint("To look at the process with that pid, pass it as an integer, without quotes.")));
}

/*
 * The path of a dump, which users call by its name or as the server's log does.  Files elsewhere
 * are only for those who may read all files of the server.
 */
static char *
path_of_dump(const char *file)
{
	const char *directory = plh_load_settings.dump_directory;
	Size		length = strlen(directory);
	PlhDumpName name;
	bool		in_directory;

	check_is_no_pid(file);
	if (strncmp(file, directory, length) == 0 && file[length] == '/' &&
		strchr(file + length + 1, '/') == NULL)
		file += length + 1;
	in_directory = strchr(file, '/') == NULL;
	if (in_directory && plh_dump_names_parse(file, &name) && name.is_text)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("\"%s\" is the text of a dump, not the dump", file),
						errdetail("The text is for jeprof and pprof, and lacks much of the dump."),
						errhint("The dump has the same name with the suffix \"%s\".", PLH_DUMP_SUFFIX)));
	if (!(in_directory && plh_dump_names_is_dump(file)) &&
		!has_privs_of_role(GetUserId(), ROLE_PG_READ_SERVER_FILES))
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("permission denied for file \"%s\"", file),
						errdetail("Only roles with privileges of \"%s\" may read files other than the dumps in pg_leakhunt.dump_directory.",
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
		sqlerrcode == ERRCODE_INSUFFICIENT_PRIVILEGE || sqlerrcode == ERRCODE_IO_ERROR;
}

/*
 * Read a file that may be anything, or gone; without looking at privileges.  NULL and what is
 * wrong, if it is about the file.  All else is an ERROR still, as there is no subtransaction that
 * would clean up after it.
 */
PlhDump *
plh_sql_source_try_dump(const char *path, bool header_only, ErrorData **error)
{
	MemoryContext caller_context = CurrentMemoryContext;
	PlhDump    *volatile dump = NULL;

	PG_TRY();
	{
		dump = plh_dump_reader_read(path, header_only);
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
 * A dump that the caller may see, or a part of it.  Others are not told whether there is one: a
 * header at most is read for them, and what is missing or damaged looks like what is not theirs.
 */
PlhDump *
plh_sql_source_dump(const char *file, bool header_only)
{
	char	   *path = path_of_dump(file);
	ErrorData  *error = NULL;
	PlhDump    *dump;

	if (plh_sql_access_sees_all())
		return plh_dump_reader_read(path, header_only);
	dump = plh_sql_source_try_dump(path, true, &error);
	if (dump != NULL && may_see(dump->image->header))
	{
		dump = plh_sql_source_try_dump(path, header_only, &error);
		if (dump == NULL)
			ReThrowError(error);
	}

	/* another file may have got its name meanwhile */
	if (dump == NULL || !may_see(dump->image->header))
		report_permission_denied(ERROR, psprintf("dump file \"%s\"", file), true);
	return dump;
}

/*
 * Get the profile of a target that is one process or dump.  False if there is none, after a
 * WARNING, unless something is wrong with a dump, which is an ERROR.
 */
bool
plh_sql_source_profile(PlhSourceProfile *profile, const PlhTarget *target)
{
	memset(profile, 0, sizeof(*profile));
	if (target->all)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("cannot show this of all processes together"),
						errhint("Pass a pid, or the name of a dump file.")));
	if (target->file != NULL)
	{
		profile->dump = plh_sql_source_dump(target->file, false);
		profile->image = profile->dump->image;
		return true;
	}
	if (!plh_sql_source_publish_and_save())
		return false;
	profile->image = plh_sql_source_process(target->pid);
	return profile->image != NULL;
}

const PlhBaseline *
plh_sql_source_baseline(const PlhSourceProfile *profile)
{
	return profile->dump != NULL ? profile->dump->baseline :
		plh_baseline_file_read(plh_profile_directory_path(), profile->image);
}

TimestampTz
plh_sql_source_time(const PlhSourceProfile *profile)
{
	const PlhProfileImage *image = profile->image;

	if (image->crashed || (profile->dump == NULL && !image->alive))
		return plh_profile_image_ended_at(image->header);
	return profile->dump != NULL ? profile->dump->written_at : GetCurrentTimestamp();
}

PlhSource
plh_sql_source_of_arguments(FunctionCallInfo fcinfo, int arguments, int growth)
{
	PlhSource	source = {.target = plh_sql_source_target(fcinfo, arguments)};

	source.growth = plh_sql_arguments_flag(fcinfo, growth);
	source.base = plh_sql_arguments_text(fcinfo, growth + 1);
	source.peak = plh_sql_arguments_flag(fcinfo, growth + 2);
	return source;
}

/* The baseline that growth of one process or dump is counted from. */
static const PlhBaseline *
required_baseline(const PlhSourceProfile *profile)
{
	const PlhBaseline *baseline = plh_sql_source_baseline(profile);

	if (baseline == NULL)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("there is no baseline of process %d", profile->image->header->pid),
						errhint("Growth is counted from the last call of pg_leakhunt_baseline.")));
	return baseline;
}

/* The sites of one process or dump; NULL, after a WARNING, if it has none. */
static PlhSiteList *
sites_of_one(const PlhTarget *target, bool growth, PlhSymbols *symbols)
{
	PlhSourceProfile profile;

	if (!plh_sql_source_profile(&profile, target))
		return NULL;
	return plh_site_list_make(symbols, profile.image, growth ? required_baseline(&profile) : NULL,
							  plh_sql_source_time(&profile));
}

/* What is collected from the profiles. */
typedef struct Collection
{
	PlhProfileMerge *merge;
	bool		growth;			/* only of processes that have a baseline */
	int			left_out;		/* others */
} Collection;

/* PlhProfileVisitor: add the sites of a process. */
static void
add_process(PlhProfileImage *image, void *arg)
{
	Collection *collection = arg;
	PlhBaseline *baseline = !collection->growth ? NULL :
		plh_baseline_file_read(plh_profile_directory_path(), image);

	if (collection->growth && baseline == NULL)
		collection->left_out++;
	else
		plh_profile_merge_add(collection->merge, image, baseline);
}

/* Say that there is nothing to show, and why. */
static void
report_nothing(const Collection *collection)
{
	if (collection->left_out > 0)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("there is no baseline of any process"),
						errhint("Take baselines with pg_leakhunt_baseline_all(): growth is counted from there.")));
	else
		ereport(WARNING, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						  errmsg("no process has a profile"),
						  errdetail("No process that you may see has kept enough samples yet.")));
}

/* Say if only a part of the processes is shown. */
static void
report_left_out(int count)
{
	if (count == 0)
		return;
	ereport(NOTICE, (errmsg_plural("%d process without a baseline is left out",
								   "%d processes without a baseline are left out",
								   count, count),
					 errhint("Call pg_leakhunt_baseline_all() to take a baseline of each process.")));
}

/*
 * The sites of all processes that the caller may see, merged: those of pg_leakhunt_report, crashed
 * ones included.  A profile that goes away meanwhile is left out, as there.  Without any it is
 * NULL, or an empty list if the source may be empty, after a WARNING.
 */
static PlhSiteList *
sites_of_all(const PlhSource *source, PlhSymbols *symbols)
{
	Collection	collection = {.growth = source->growth};
	const PlhMergedProfiles *merged;

	if (!plh_sql_source_publish_and_save())
		return NULL;
	collection.merge = plh_profile_merge_begin(source->queries, source->owner_parts);
	plh_sql_access_visit(plh_sql_access_sees_all(), 0, add_process, &collection);
	merged = plh_profile_merge_end(collection.merge);
	if (merged->process_count == 0)
	{
		report_nothing(&collection);
		if (!source->may_be_empty)
			return NULL;
	}
	report_left_out(collection.left_out);
	return plh_site_list_make_merged(symbols, merged, source->growth, GetCurrentTimestamp());
}

PlhSiteList *
plh_sql_source_sites(const PlhSource *source)
{
	PlhSymbols *symbols = source->unnamed ? NULL : plh_symbols_open();
	PlhTarget	base = {.file = source->base};
	PlhSiteList *list;

	if (source->growth + (source->base != NULL) + source->peak > 1)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("cannot show more than one of growth, base and peak at once")));
	if (source->base != NULL && source->target.all && source->owner_parts != 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("cannot tell processes apart in what all of them have more than a dump"),
						errhint("Leave out the labels of processes: labels => '{memory_context}'.")));
	list = source->target.all ? sites_of_all(source, symbols) :
		sites_of_one(&source->target, source->growth, symbols);
	if (list != NULL && source->peak && !source->keeps_values)
		plh_site_list_take_peak(list);
	if (list != NULL && source->base != NULL)
		plh_site_list_subtract(list, sites_of_one(&base, false, symbols));
	return list;
}
