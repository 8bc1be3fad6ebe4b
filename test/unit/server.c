/*
 * server.c
 *	  What the tested files need of the server.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xlog.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "optimizer/cost.h"
#include "optimizer/paths.h"
#include "optimizer/planmain.h"
#include "postmaster/autovacuum.h"
#include "replication/reorderbuffer.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "server.h"
#include "base/compat.h"
#include "base/settings.h"
#include "reader/server_activity.h"
#include "utils/portal.h"

/* The settings and what else comes from the server. */
bool		plh_track_malloc = true;
bool		plh_track_queries = true;
int			plh_sample_interval = 512 * 1024;
double		plh_process_memory_limit;
double		plh_server_memory_limit;
int			plh_forecast_warning;
int			plh_keeper_interval = PLH_KEEPER_INTERVAL_MS;
int			plh_limit_action;
char	   *plh_debuginfod_urls = "";
PlhLoadSettings plh_load_settings = {.max_profile_size = 1024 * 1024};
char		my_exec_path[MAXPGPATH] = "/tested/executable";
char		pkglib_path[MAXPGPATH] = "/tested/lib";
MemoryContext TopMemoryContext;
MemoryContext CacheMemoryContext;
MemoryContext TopTransactionContext;
MemoryContext MessageContext;
MemoryContext ErrorContext;
int			MyProcPid = 4711;
pid_t		PostmasterPid = 4710;
int			PostPortNumber = 5432;
char	   *DataDir = "/tested/data";
bool		IsUnderPostmaster = true;
bool		ExitOnAnyError;
bool		InitializingParallelWorker;
int			ParallelWorkerNumber = -1;

__typeof__(ParallelMessagePending) ParallelMessagePending;
bool		am_walsender;
volatile uint32 CritSectionCount;
PGPROC	   *MyProc;
int			work_mem = 4096;
double		hash_mem_multiplier = 2.0;
int			maintenance_work_mem = 65536;
int			autovacuum_work_mem = -1;
BackendType MyBackendType = B_BACKEND;
const char *server_release;
int			logical_decoding_work_mem = 65536;
bool		enable_partitionwise_aggregate = false;
bool		enable_geqo = true;
int			geqo_threshold = 12;
int			join_collapse_limit = 8;
int			from_collapse_limit = 8;

TimestampTz statement_start = 1;
pg_tz	   *session_timezone;
PlhLoadedCode loaded_code;

/* There are no parallel workers. */
bool
ParallelContextActive(void)
{
	return false;
}

void
PLH_READ_MESSAGES(void)
{
}

const char *
GetConfigOption(const char *name, bool missing_ok, bool restrict_privileged)
{
	return strcmp(name, "server_version_num") == 0 ? server_release : NULL;
}

/* There is no time zone. */
pg_time_t
timestamptz_to_time_t(TimestampTz t)
{
	return 0;
}

struct pg_tm *
pg_localtime(const pg_time_t *timep, const pg_tz *tz)
{
	return NULL;
}

/* As the server's; a program that needs more of lists has its own. */
static List *
make_room(List *list, NodeTag type)
{
	if (list == NIL)
	{
		list = palloc0(sizeof(List));
		list->type = type;
		list->elements = palloc(sizeof(ListCell));
	}
	else
		list->elements = repalloc(list->elements, sizeof(ListCell) * (list->length + 1));
	list->length++;
	return list;
}

__attribute__((weak))
List *
lappend_int(List *list, int number)
{
	list = make_room(list, T_IntList);
	list->elements[list->length - 1].int_value = number;
	return list;
}

__attribute__((weak))
List *
lappend(List *list, void *datum)
{
	list = make_room(list, T_List);
	list->elements[list->length - 1].ptr_value = datum;
	return list;
}

__attribute__((weak))
void
list_sort(List *list, list_sort_comparator compare)
{
	if (list_length(list) > 1)
		qsort(list->elements, list_length(list), sizeof(ListCell), (int (*) (const void *, const void *)) compare);
}

__attribute__((weak))
List *
list_concat(List *list, const List *other)
{
	for (int i = 0; i < list_length(other); i++)
		list = lappend(list, other->elements[i].ptr_value);
	return list;
}

/* A program that asks more of malloc_callers.c has the real one. */
__attribute__((weak))
PlhLoadedCode
plh_malloc_callers_loaded(int pid)
{
	return loaded_code;
}

const char *server_state;
PlhServerActivity server_activity;

/* There are none, unless a program has some. */
__attribute__((weak))
Portal
GetPortalByName(const char *name)
{
	return NULL;
}

/* A program may have its own. */
__attribute__((weak))
bool
plh_server_activity_find(int pid, PlhServerActivity *activity)
{
	*activity = server_activity;
	activity->state = server_state;
	return true;
}

PlhServerLocks server_locks;

PlhServerLocks
plh_server_locks_of(int pid)
{
	return server_locks;
}

int
plh_server_activity_workers(int leader_pid, int *pids, int room)
{
	return 0;
}

uint64
GetSystemIdentifier(void)
{
	return UINT64CONST(0x123456789ABCDEF0);
}

const char *
plh_settings_scope_name(uint32 scope)
{
	return scope == PLH_SCOPE_ALL ? "all" : "long_lived";
}

TimestampTz
GetCurrentStatementStartTimestamp(void)
{
	return statement_start;
}

TimestampTz
GetCurrentTimestamp(void)
{
	return statement_start;
}

const char *
GetBackendTypeDesc(BackendType type)
{
	return "client backend";
}

#if PG_VERSION_NUM >= 170000
/* As where an allocation that fails is no error. */
void *
MemoryContextAllocationFailure(MemoryContext context, Size size, int flags)
{
	return NULL;
}
#endif

void
MemoryContextRegisterResetCallback(MemoryContext context,
								   MemoryContextCallback *callback)
{
	callback->next = context->reset_cbs;
	context->reset_cbs = callback;
}

/* Like a context's reset: calls the callbacks. */
void
reset_context(MemoryContext context)
{
	while (context->reset_cbs != NULL)
	{
		MemoryContextCallback *callback = context->reset_cbs;

		context->reset_cbs = callback->next;
		callback->func(callback->arg);
	}
}

/* All characters are of one byte. */
int
pg_mbcharcliplen(const char *text, int bytes, int limit)
{
	return Min(bytes, limit);
}
