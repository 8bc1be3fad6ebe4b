/*
 * compat.h
 *	  Every difference in spelling between PostgreSQL versions, and the range of versions that
 *	  pg_leakhunt supports.
 *
 * The rest of the code is written against the newest signatures.  Differences in the *layout* that
 * we patch are not spelling: method_patch.c and chunk_mark.h know those.  Include this file after
 * postgres.h.
 */
#pragma once

/* The first supported version, and the first beyond the supported range. */
#define PLH_PG_VERSION_FIRST 150000
#define PLH_PG_VERSION_END	 200000

#if PG_VERSION_NUM < PLH_PG_VERSION_FIRST || PG_VERSION_NUM >= PLH_PG_VERSION_END
#error "this version of pg_leakhunt supports PostgreSQL 15 to 19 only"
#endif

#ifndef __linux__
#error "pg_leakhunt runs on Linux only: it needs /proc, tmpfs and RELRO method tables"
#endif

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "pg_leakhunt supports x86-64 and aarch64 only"
#endif

/*
 * We compile with hidden visibility, so that calls between our files need no detour and clash with
 * nothing.  The functions that the server looks up must be visible; before 16, PGDLLEXPORT did not
 * make them so.
 */
#if PG_VERSION_NUM < 160000
#undef PGDLLEXPORT
#define PGDLLEXPORT __attribute__((visibility("default")))
#endif
#define PLH_FUNCTION(name) \
	extern PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
	PG_FUNCTION_INFO_V1(name)

/*
 * From 18 on, pg_get_loaded_modules() shows the name and the version that a module tells.  The
 * Makefile takes the version from the control file.
 */
#if PG_VERSION_NUM >= 180000
#define PLH_MODULE_MAGIC \
	PG_MODULE_MAGIC_EXT(.name = "pg_leakhunt", .version = PLH_EXTENSION_VERSION)
#else
#define PLH_MODULE_MAGIC PG_MODULE_MAGIC
#endif

/*
 * The hooked methods have these parameters, and the hooks pass them on by these arguments: 16 took
 * the context from free and realloc, 17 added the flags.  And how a method lets an allocation fail:
 * from 17 on it throws, or returns NULL where the flags say so.  Before, its caller does that.
 */
#if PG_VERSION_NUM >= 170000
#define PLH_ALLOC_PARAMETERS	MemoryContext context, Size size, int flags
#define PLH_ALLOC_ARGUMENTS		context, size, flags
#define PLH_REALLOC_PARAMETERS	void *pointer, Size size, int flags
#define PLH_REALLOC_ARGUMENTS	pointer, size, flags
#define PLH_ALLOC_FAILURE(context) MemoryContextAllocationFailure(context, size, flags)
#else
#define PLH_ALLOC_PARAMETERS	MemoryContext context, Size size
#define PLH_ALLOC_ARGUMENTS		context, size
#if PG_VERSION_NUM >= 160000
#define PLH_REALLOC_PARAMETERS	void *pointer, Size size
#define PLH_REALLOC_ARGUMENTS	pointer, size
#else
#define PLH_REALLOC_PARAMETERS	MemoryContext context, void *pointer, Size size
#define PLH_REALLOC_ARGUMENTS	context, pointer, size
#endif
#define PLH_ALLOC_FAILURE(context) NULL
#endif

/* Those of free, and which of them is the pointer. */
#if PG_VERSION_NUM >= 160000
#define PLH_FREE_PARAMETERS		void *pointer
#define PLH_FREE_ARGUMENTS		pointer
#define PLH_FREE_POINTER 1
#else
#define PLH_FREE_PARAMETERS		MemoryContext context, void *pointer
#define PLH_FREE_ARGUMENTS		context, pointer
#define PLH_FREE_POINTER 2
#endif

/* 15.0 has this under its first name only, which later releases of 15 have, too. */
#if PG_VERSION_NUM >= 160000
#define PLH_INIT_MATERIALIZED InitMaterializedSRF
#else
#define PLH_INIT_MATERIALIZED SetSingleFuncCall
#endif

/* From 16 on, the values of settings and compiled regular expressions are in memory contexts. */
#define PLH_SETTINGS_BY_MALLOC (PG_VERSION_NUM < 160000)

/* From 17 on, EXPLAIN (MEMORY) tells what planning takes. */
#define PLH_EXPLAINS_MEMORY (PG_VERSION_NUM >= 170000)

/* pg_dsm_registry_allocations */
#define PLH_LISTS_DSM_REGISTRY (PG_VERSION_NUM >= 190000)

/*
 * The local id of this process' transaction is 0 if there is none.
 *
 * When the transaction that has just committed ended, and in which tick of some 2 ms.  From 17 on,
 * the server remembers the answer, and would soon ask itself.  Before, the exact clock would be
 * asked once more, which takes longer than all else that is done then: some milliseconds earlier
 * will do.
 */
#if PG_VERSION_NUM >= 170000
#define PLH_LOCAL_TRANSACTION() (MyProc != NULL ? MyProc->vxid.lxid : 0)
#define PLH_TRANSACTION_END() GetCurrentTransactionStopTimestamp()
#define PLH_TRANSACTION_TICK() (PLH_TRANSACTION_END() >> 11)
#else
#define PLH_LOCAL_TRANSACTION() (MyProc != NULL ? MyProc->lxid : 0)
#define PLH_TRANSACTION_END() plh_clock_coarse_now()
#define PLH_TRANSACTION_TICK() plh_clock_coarse_tick()
#endif

/* What reads the messages of parallel workers, and the context that it makes for them. */
#if PG_VERSION_NUM >= 180000
#define PLH_READ_MESSAGES ProcessParallelMessages
#define PLH_MESSAGES_CONTEXT "ProcessParallelMessages"
#else
#define PLH_READ_MESSAGES HandleParallelMessages
#define PLH_MESSAGES_CONTEXT "HandleParallelMessages"
#endif

/* Version 17 brought Bump contexts. */
#define PLH_HAVE_BUMP (PG_VERSION_NUM >= 170000)

/*
 * From 18 on, functions are compiled below the query's context, and moved into a cache.  Before,
 * "SQL function" was a context that belongs to a single query, and "PL/pgSQL function" one that was
 * made in the cache.
 */
#define PLH_FUNCTIONS_MOVE (PG_VERSION_NUM >= 180000)

/* From 18 on, functions in SQL are cached as those in PL/pgSQL are. */
#define PLH_HAVE_FUNCTION_CACHE (PG_VERSION_NUM >= 180000)

/* From 19 on, those in PL/Python are, too. */
#define PLH_HAVE_CACHED_PYTHON (PG_VERSION_NUM >= 190000)

/* Where a function in PL/pgSQL knows its row in pg_proc, which moved there then, too. */
#if PLH_HAVE_FUNCTION_CACHE
#define PLH_FUNCTION_XMIN cfunc.fn_xmin
#define PLH_FUNCTION_TID cfunc.fn_tid
#else
#define PLH_FUNCTION_XMIN fn_xmin
#define PLH_FUNCTION_TID fn_tid
#endif

/* From 18 on, the processes of clients that are refused have a type. */
#if PG_VERSION_NUM >= 180000
#define PLH_DEAD_END_BACKEND B_DEAD_END_BACKEND
#else
#define PLH_DEAD_END_BACKEND B_BACKEND
#endif

/*
 * From 18 on, EXPLAIN has options of extensions, and tells them of its nodes; from 19 on settings
 * may name such options, too.
 */
#define PLH_HAVE_EXPLAIN_OPTIONS (PG_VERSION_NUM >= 180000)
#if PG_VERSION_NUM >= 190000
#define PLH_REGISTER_EXPLAIN_OPTION(name, handler) \
	RegisterExtensionExplainOption(name, handler, GUCCheckBooleanExplainOption)
#else
#define PLH_REGISTER_EXPLAIN_OPTION(name, handler) \
	RegisterExtensionExplainOption(name, handler)
#endif

/* From 16 on, EXPLAIN explains plans for any parameters; 19 made CLUSTER one kind of REPACK. */
#if PG_VERSION_NUM >= 160000
#define PLH_EXPLAIN_GENERIC EXEC_FLAG_EXPLAIN_GENERIC
#else
#define PLH_EXPLAIN_GENERIC 0
#endif
#if PG_VERSION_NUM >= 190000
#define PLH_CLUSTER_TAG T_RepackStmt
#define PLH_PLAN_QUERY(query, text, options) pg_plan_query(query, text, options, NULL, NULL)
#else
#define PLH_CLUSTER_TAG T_ClusterStmt
#define PLH_PLAN_QUERY(query, text, options) pg_plan_query(query, text, options, NULL)
#endif

/* What EXPLAIN calls a subplan: from 19 on, its name is without the kind. */
#if PG_VERSION_NUM >= 190000
#define PLH_SUBPLAN_NAME(subplan) \
	psprintf("%s %s", (subplan)->subLinkType == CTE_SUBLINK ? "CTE" : \
			 (subplan)->isInitPlan ? "InitPlan" : "SubPlan", (subplan)->plan_name)
#else
#define PLH_SUBPLAN_NAME(subplan) ((subplan)->plan_name)
#endif

/* What the instrumentation of a node knows of its time; 19 put that into a part of it. */
#if PG_VERSION_NUM >= 190000
#define PLH_NODE_TIMES(instrument) (&(instrument)->instr)
#else
#define PLH_NODE_TIMES(instrument) (instrument)
#endif

/* 16 named the look-up of a process' statistics by its place in the array so. */
#if PG_VERSION_NUM < 160000
#define pgstat_get_local_beentry_by_index(index) \
	pgstat_fetch_stat_local_beentry(index)
#endif

/* 16 has lists of transactions, and 17 bump contexts; before, no node has their tags. */
#if PG_VERSION_NUM >= 160000
#define PLH_XID_LIST_TAG T_XidList
#else
#define PLH_XID_LIST_TAG 0
#endif
#if PG_VERSION_NUM >= 170000
#define PLH_BUMP_TAG T_BumpContext
#else
#define PLH_BUMP_TAG 0
#endif
