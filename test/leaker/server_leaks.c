/*
 * server_leaks.c
 *	  A module that makes processes leak which run no SQL: preloaded, the
 *	  postmaster at each connection; as a logical decoding output plugin, a
 *	  walsender at each change.
 */
#include "postgres.h"

#include <pthread.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "replication/logical.h"
#include "replication/output_plugin.h"
#include "utils/memutils.h"

PG_MODULE_MAGIC;

#define LEAK_BYTES 10000

extern PGDLLEXPORT void _PG_init(void);
extern PGDLLEXPORT void _PG_output_plugin_init(OutputPluginCallbacks *callbacks);

static pg_noinline void
leaking_at_fork(void)
{
	if (!IsUnderPostmaster)
		MemoryContextAlloc(TopMemoryContext, LEAK_BYTES);
}

static pg_noinline void
leaking_at_change(void)
{
	MemoryContextAlloc(TopMemoryContext, LEAK_BYTES);
}

void
_PG_init(void)
{
	if (process_shared_preload_libraries_in_progress)
		pthread_atfork(leaking_at_fork, NULL, NULL);
}

static void
startup(LogicalDecodingContext *context, OutputPluginOptions *options,
		bool is_init)
{
	options->output_type = OUTPUT_PLUGIN_TEXTUAL_OUTPUT;
}

static void
begin(LogicalDecodingContext *context, ReorderBufferTXN *transaction)
{
}

static void
change(LogicalDecodingContext *context, ReorderBufferTXN *transaction,
	   Relation relation, ReorderBufferChange *row)
{
	leaking_at_change();
}

static void
commit(LogicalDecodingContext *context, ReorderBufferTXN *transaction,
	   XLogRecPtr position)
{
	OutputPluginPrepareWrite(context, true);
	appendStringInfoString(context->out, "committed");
	OutputPluginWrite(context, true);
}

void
_PG_output_plugin_init(OutputPluginCallbacks *callbacks)
{
	callbacks->startup_cb = startup;
	callbacks->begin_cb = begin;
	callbacks->change_cb = change;
	callbacks->commit_cb = commit;
}
