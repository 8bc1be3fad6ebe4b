/*
 * sql_memory.c
 *	  The function of SQL that tells what the memory of the server's control group consists of.
 *
 * Before, all processes count their memory, so that the answer is of one moment.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "functions/sql_access.h"
#include "functions/sql_explain.h"
#include "functions/sql_moment.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "reader/control_group.h"
#include "telling/part_words.h"

PLH_FUNCTION(pg_leakhunt_memory);

/* An indented title. */
static const char *
titled(const PlhMemoryPart *part)
{
	return psprintf("%*s%s", 2 * part->level, "", plh_part_words_title(part));
}

/* Is it in the whole, or the whole itself? */
static bool
is_within(const PlhMemoryPart *part, const PlhMemoryPart *whole)
{
	return part == whole || part->part_of != 0;
}

static void
put_part(PlhRowSink *sink, const PlhMemoryPart *part, const PlhMemoryPart *whole)
{
	PlhRow		row = {0};

#include "functions/columns/memory.def"
	plh_sql_rows_finish(&row, sink);
}

/* PlhExplainedVisitor: tell the account of a process. */
static void
add_process(const PlhExplainedProcess *process, void *arg)
{
	plh_server_account_add(arg, process->pid, process->backend_type, process->application_name,
						   process->image);
}

/* The named group, or NULL: that of this server. */
static char *
named_group(FunctionCallInfo fcinfo)
{
	return PG_ARGISNULL(0) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(0));
}

static void
check_access(void)
{
	if (!plh_sql_access_sees_all())
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("permission denied for the memory of the server"),
						errdetail("Only roles with privileges of \"%s\" may see all of its processes.",
								  "pg_read_all_stats")));
}

/* The control group must count memory, and be visible in this container. */
static void
report_no_group(const char *group)
{
	if (group == NULL)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("the kernel does not tell what memory is used"),
						errdetail("Neither the control group's files nor /proc/meminfo could be read.")));
	ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
					errmsg("control group \"%s\" does not exist, or does not count memory", group),
					errhint("Names begin with a slash, and are those of directories below /sys/fs/cgroup, or /sys/fs/cgroup/memory for version 1.")));
}

/*
 * pg_leakhunt_memory(control_group): what its memory consists of, and what limits it.
 */
Datum
pg_leakhunt_memory(PG_FUNCTION_ARGS)
{
	PlhRowSink	sink = {0};
	char	   *group;
	PlhServerAccount *account;
	const List *parts;
	ListCell   *cell;

	plh_sql_rows_check_arguments(fcinfo, 1);
	check_access();
	plh_sql_rows_start(fcinfo, &sink);
	group = named_group(fcinfo);
	if (plh_sql_source_publish_and_save())
		plh_sql_moment_of_all();
	account = plh_sql_explain_account(true, group);
	plh_sql_explain_visit(true, 0, add_process, account);
	parts = plh_server_account_parts(account);
	if (parts == NIL)
		report_no_group(group);
	foreach(cell, parts)
		put_part(&sink, lfirst(cell), linitial(parts));
	return (Datum) 0;
}
