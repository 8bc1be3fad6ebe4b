/*
 * server_workers.c
 *	  What the keeper and its workers ask of the server: a worker runs, to its end, when it
 *	  is registered.
 */
#include "postgres.h"

#include <signal.h>

#include "access/xact.h"
#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/json.h"
#include "utils/snapmgr.h"

volatile uint32 InterruptHoldoffCount;
BackgroundWorker *MyBgworkerEntry;

extern void pg_leakhunt_reporter_main(Datum arg);

bool
RegisterDynamicBackgroundWorker(BackgroundWorker *worker, BackgroundWorkerHandle **handle)
{
	MyBgworkerEntry = worker;
	pg_leakhunt_reporter_main((Datum) 0);
	MyBgworkerEntry = NULL;
	return true;
}

void
BackgroundWorkerUnblockSignals(void)
{
}

void
BackgroundWorkerInitializeConnectionByOid(Oid database, Oid role, uint32 flags)
{
}

#if PG_VERSION_NUM >= 180000
void
pqsignal(int number, pqsigfunc function)
{
}
#else
pqsigfunc
pqsignal(int number, pqsigfunc function)
{
	return NULL;
}
#endif

void
die(SIGNAL_ARGS)
{
}

void
SetConfigOption(const char *name, const char *value, GucContext context, GucSource source)
{
}

void
pgstat_report_activity(BackendState state, const char *text)
{
}

void
StartTransactionCommand(void)
{
}

void
CommitTransactionCommand(void)
{
}

Snapshot
GetTransactionSnapshot(void)
{
	return NULL;
}

void
PushActiveSnapshot(Snapshot snapshot)
{
}

void
PopActiveSnapshot(void)
{
}

/* Whatever is caught by others than tests is a bug. */
ErrorData *
CopyErrorData(void)
{
	abort();
}

void
FlushErrorState(void)
{
}

void
hash_destroy(HTAB *table)
{
}

void
escape_json(StringInfo to, const char *text)
{
	appendStringInfoChar(to, '"');
	for (; *text != '\0'; text++)
	{
		if (*text == '\n')
			appendStringInfoString(to, "\\n");
		else if (*text == '"' || *text == '\\')
			appendStringInfo(to, "\\%c", *text);
		else
			appendStringInfoChar(to, *text);
	}
	appendStringInfoChar(to, '"');
}
