/*
 * leaking_decoding.c
 *	  An output plugin that keeps a kilobyte for each change that it decodes.
 */
#include "postgres.h"

#include "fmgr.h"
#include "replication/logical.h"
#include "replication/output_plugin.h"
#include "utils/memutils.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_output_plugin_init(OutputPluginCallbacks *callbacks);

#define CHUNK_BYTES 1000

static void
starting(LogicalDecodingContext *context, OutputPluginOptions *options,
		 bool is_init)
{
	options->output_type = OUTPUT_PLUGIN_TEXTUAL_OUTPUT;
}

static void
nothing(LogicalDecodingContext *context, ReorderBufferTXN *transaction)
{
}

static void
committing(LogicalDecodingContext *context, ReorderBufferTXN *transaction,
		   XLogRecPtr lsn)
{
	nothing(context, transaction);
}

static pg_noinline void
leaking_change(LogicalDecodingContext *context, ReorderBufferTXN *transaction,
			   Relation relation, ReorderBufferChange *change)
{
	char	   *chunk = MemoryContextAlloc(CacheMemoryContext, CHUNK_BYTES);

	chunk[0] = 1;
}

/* See above. */
__attribute__((visibility("default")))
void
_PG_output_plugin_init(OutputPluginCallbacks *callbacks)
{
	callbacks->startup_cb = starting;
	callbacks->begin_cb = nothing;
	callbacks->change_cb = leaking_change;
	callbacks->commit_cb = committing;
}
