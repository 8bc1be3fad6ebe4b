/*
 * family.c
 *	  Which memory contexts belong together, and what is known of them.
 *
 * Whoever reads a verdict thinks of prepared statements, and not of the three kinds of contexts
 * that one of them has.  All that is known of contexts by their names stands here.
 */
#include "postgres.h"

#include "base/fork.h"
#include "base/page_layout.h"
#include "judge/family.h"

#define NAMES(...) ((const char *const[]) {__VA_ARGS__, NULL})

static const PlhFamily families[] = {
	{
		PLH_FAMILY_PLANS, "prepared statements and cached plans",
		"Each prepared statement has some, and so has each statement of a PL/pgSQL function that was called (from PostgreSQL 18 on, also of an SQL function).",
		"A prepared statement stays until its session deallocates it or ends, and the plans of a function until the session ends.",
		"Let the application DEALLOCATE what it no longer uses: only its own session can. Or let it prepare fewer: raise prepareThreshold in pgJDBC, lower statement_cache_size in asyncpg or max_prepared_statements in PgBouncer.",
		NAMES("CachedPlanSource", "CachedPlanQuery", "CachedPlan", "SPI Plan", "CachedExpression",
			  "Prepared Queries", "unnamed prepared statement", "PL/Python plan context",
			  "PL/Perl spi_prepare query", "PL/Tcl spi_prepare query")
	},
	{
		PLH_FAMILY_FUNCTIONS, "compiled functions and their plans",
		"Each session compiles the functions that it calls, and keeps plans for their statements.",
		"One that is replaced is freed when it is called next; one that is dropped stays until the session ends.",
		"Create a function once, or with CREATE OR REPLACE instead of DROP and CREATE. Use DO for code that runs only once.",
		NAMES("PL/pgSQL function", "SQL function", "PL/Perl function", "PL/Python function",
			  "PL/Tcl function", "PLpgSQL function hash", "PLpgSQL cast cache",
			  "PLpgSQL cast expressions", "CFuncHash")
	},
	{
		PLH_FAMILY_CACHE, "CacheMemoryContext and other caches",
		"Each session keeps there what it has read from the catalogs on tables, indexes, types and functions that it has used.",
		"This stops growing once the session has used all of them. Only anonymous record types (ROW(...), functions that return record) can grow without end.",
		"Let one session use fewer tables and partitions, or limit how long connections live (a pool's max lifetime).",
		NAMES("CacheMemoryContext", "index info", "relation rules", "partition descriptor",
			  "partition key", "row security descriptor", "Domain constraints",
			  "entry private context", "EventTriggerCache", "EventTriggerCacheHash",
			  "Relcache by OID", "RelfilenumberMap cache", "RelfilenodeMap cache",
			  "Type information cache", "Missing Values Cache", "Operator class cache",
			  "Operator lookup cache", "OprCacheHash", "Attopt cache", "TableSpace cache",
			  "Collation cache", "search_path processing cache", "RI compare cache",
			  "RI constraint cache", "RI query cache", "Btree proof lookup cache",
			  "Sequence values", "LogicalRepRelMapContext", "LogicalRepPartMapContext",
			  "logicalrep relation map cache", "logicalrep partition map cache",
			  "logical replication cache context", "logical replication output relation cache",
			  "MdSmgr", "smgr relation table")
	},
	{
		PLH_FAMILY_STATEMENT, "settings",
		"Each session keeps its settings there, with those of names of its own that SET or set_config has made.",
		"Nothing limits how many such names there are, and RESET does not remove one.",
		"Let the application set fewer names of its own, or shorter values. To free them, end the session.",
		NAMES("GUCMemoryContext", "GUC hash table")
	},
	{
		PLH_FAMILY_CACHE, "anonymous record types",
		"Each session keeps each combination of column names and types that ROW(...), a subquery or a function has returned as record.",
		"Nothing limits them, and they stay until the session ends.",
		"Use the same column names and types each time: each new combination makes a record type. A named type (CREATE TYPE) or jsonb avoids that.",
		NAMES("Record information cache"), true
	},
	{
		PLH_FAMILY_CACHE, "text search dictionaries",
		"Each session loads the dictionaries that it uses.",
		"They are as large as the dictionaries' files.",
		"Use a dictionary with fewer words, or keep connections in a pool that is smaller.",
		NAMES("TS dictionary", "Tsearch configuration cache", "Tsearch dictionary cache",
			  "Tsearch parser cache")
	},
	{
		PLH_FAMILY_CACHE, "compiled regular expressions",
		"Each session keeps the last few that it has used.",
		"There are 32 at most.",
		"Use shorter regular expressions.",
		NAMES("RegexpCacheMemoryContext", "RegexpMemoryContext")
	},
	{
		PLH_FAMILY_CACHE, "buffers of temporary tables",
		"Each session that uses temporary tables has buffers of its own for them.",
		"The setting temp_buffers limits them; they stay until the session ends.",
		"Lower temp_buffers, or end the session.",
		NAMES("LocalBufferContext", "Local Buffer Lookup Table")
	},
	{
		PLH_FAMILY_DECODING, "decoding of transactions",
		"Logical decoding keeps changes and subtransactions of each transaction until its end is in the log.",
		"logical_decoding_work_mem limits the changes, but not what each subtransaction needs; all of it is freed when the transaction has been sent.",
		"Look for long transactions with many subtransactions, such as loops over BEGIN ... EXCEPTION blocks.",
		NAMES("ReorderBuffer", "ReorderBufferByXid", "ReorderBufferToastHash",
			  "ReorderBufferTupleCid", "TXN", "Change", "Tuples", "snapshot builder context")
	},
	{
		PLH_FAMILY_DECODING, "output of logical decoding",
		"Decoding writes what it sends into a buffer, and the output plugin may keep memory of its own.",
		"The buffer is as large as the largest row or transaction that was written to it, and stays until decoding ends.",
		"See which output plugin the slot has (pg_replication_slots), and whether it sends very large rows or transactions as one.",
		NAMES("Logical decoding context", "logical replication output context")
	},
	{
		PLH_FAMILY_STATEMENT, "subtransactions",
		"Each SAVEPOINT, and each PL/pgSQL block with an EXCEPTION clause, begins a subtransaction. Its context is freed when it is released, or, if something was allocated in it, only when the whole transaction ends.",
		"Nothing limits their number.",
		"Commit more often, or take the EXCEPTION clause out of the loop. RELEASE savepoints that are no longer needed. Some clients set a savepoint before each statement (autosave of pgJDBC, ON_ERROR_ROLLBACK of psql); pgJDBC releases them with cleanupSavepoints.",
		NAMES("CurTransactionContext")
	},
	{
		PLH_FAMILY_STATEMENT, "events of deferred and AFTER triggers",
		"Each row that a trigger or a foreign key is to look at later has one.",
		"Nothing limits them but the number of rows that the statement or transaction changes.",
		"Change fewer rows in one transaction. Drop a foreign key before a large load, and add it afterwards (NOT VALID, then VALIDATE CONSTRAINT). An ordinary AFTER trigger can be FOR EACH STATEMENT.",
		NAMES("AfterTriggerEvents", "AfterTriggerTupleContext")
	},
	{
		PLH_FAMILY_ROWS, "rows of cursors WITH HOLD",
		"A cursor that is held keeps all of its rows when its transaction has committed.",
		"They stay until the cursor is closed; beyond work_mem they are written to disk.",
		"Let the application CLOSE the cursors that it no longer uses: only its own session can.",
		NAMES("PortalHoldContext")
	},
	{
		PLH_FAMILY_LOCKS, "locks",
		"Each session has an entry for each lock that it holds, with 128 bytes more in TopMemoryContext. It keeps the entries for later locks.",
		"A transaction locks each table, index and partition that it uses until it ends. max_locks_per_transaction only sizes the table that all sessions share.",
		"Commit more often: COMMIT or ROLLBACK releases its locks. Where most are on relations, let one transaction use fewer tables and partitions. pg_advisory_unlock_all() releases advisory locks of the session.",
		NAMES("LOCALLOCK hash")
	},
	{
		PLH_FAMILY_NODES, "hash tables",
		"Each hash join, hash aggregate, Memoize and hashed subplan of a plan has one.",
		"work_mem times hash_mem_multiplier limits each of them, not all together.",
		"Lower work_mem or hash_mem_multiplier for this statement, or change the plan so that it has fewer of them.",
		NAMES("HashTableContext", "HashBatchContext", "HashAgg meta context",
			  "HashAgg table context", "HashAgg hashed tuples", "MemoizeHashTable")
	},
	{
		PLH_FAMILY_STATEMENT, "buffers of a hash join's temporary files",
		"A hash join whose rows do not fit into its memory splits them into batches, and each batch has two files with a buffer of 8 kB each.",
		"No setting limits them: a hash join doubles the number of its batches until each fits, or cannot be split.",
		"Raise work_mem or hash_mem_multiplier for this statement: a hash join then needs fewer batches, and fewer buffers. EXPLAIN (ANALYZE) tells their number. Update statistics with ANALYZE. Where very many rows have the same key, SET enable_hashjoin = off for it.",
		NAMES("HashSpillContext")
	},
	{
		PLH_FAMILY_STATEMENT, "rows of WITH RECURSIVE ... UNION",
		"A recursive UNION keeps all of its rows in a hash table, to leave out duplicates. The table's buckets are beside them, in ExecutorState.",
		"It is never written to disk, whatever work_mem is.",
		"Write UNION ALL, if the recursion ends without UNION and returns the same. Else let it return fewer or shorter rows.",
		NAMES("RecursiveUnion hash table", "RecursiveUnion hashed tuples")
	},
	{
		PLH_FAMILY_STATEMENT, "rows of EXCEPT and INTERSECT",
		"EXCEPT and INTERSECT may keep rows in a hash table, to compare others with them. The table's buckets are beside them, in ExecutorState.",
		"It is never written to disk: work_mem only tells the planner whether to use one.",
		"Update statistics with ANALYZE, so that the planner sorts. Or SET enable_hashagg = off for this statement.",
		NAMES("SetOp hash table", "SetOp hashed tuples")
	},
	{
		PLH_FAMILY_STATEMENT, "rows of NOT IN (SELECT ...)",
		"NOT IN (SELECT ...), and IN where it is no join, keep the rows of the SELECT in a hash table. Its buckets are beside them, in ExecutorState.",
		"It is never written to disk: work_mem only tells the planner whether to use one.",
		"Write NOT EXISTS, which can be a join, but treats NULLs in another way. Where a function returns far more rows than expected, ALTER FUNCTION ... ROWS.",
		NAMES("Subplan HashTable Context", "Subplan HashTable Temp Context",
			  "SubPlan hashed tuples")
	},
	{
		PLH_FAMILY_STATEMENT, "rows sampled by ANALYZE",
		"ANALYZE keeps a sample of a table's rows while it works out statistics of their columns.",
		"No setting limits its bytes: the sample has 300 rows for each unit of the statistics target, as wide as the table's rows are.",
		"Lower the statistics target of the table's columns (ALTER TABLE ... ALTER COLUMN ... SET STATISTICS), or default_statistics_target where that was raised.",
		NAMES("Analyze", "Analyze Column", "Analyze Index")
	},
	{
		PLH_FAMILY_STATEMENT, "old rows that a rewrite of a table remembers",
		"VACUUM FULL and CLUSTER remember rows that were updated or deleted and that an older transaction may still see.",
		"Nothing limits their number, as long as there is an older transaction.",
		"Let older transactions end first: see backend_xmin in pg_stat_activity, prepared transactions, and replication slots.",
		NAMES("Table rewrite")
	},
	{
		PLH_FAMILY_STATEMENT, "notifications that are not sent yet",
		"NOTIFY and pg_notify keep each notification until the transaction commits.",
		"Nothing limits their number.",
		"Send fewer notifications per transaction, such as one for all rows that it changes, or commit more often.",
		NAMES("Pending Notifies")
	},
	{
		PLH_FAMILY_NODES, "sorts",
		"Each sort of a plan, and each index that is built, has one.",
		"work_mem limits each sort of a plan, maintenance_work_mem that of an index.",
		"Lower work_mem for this statement, or sort fewer rows at a time.",
		NAMES("TupleSort main", "TupleSort sort", "Caller tuples")
	},
	{
		PLH_FAMILY_NODES, "rows kept for later",
		"Functions that return rows, materialized nodes, WITH queries and windows keep rows there, from PostgreSQL 18 on.",
		"work_mem limits each of them: rows beyond it go to disk.",
		"Lower work_mem for this statement, or read fewer rows at a time.",
		NAMES("tuplestore tuples")
	},
	{
		PLH_FAMILY_EXECUTOR, "the executor",
		"It has what a plan's nodes, expressions and functions need.",
		"It is freed when the statement ends.",
		"EXPLAIN the statement. No work_mem limits what functions, aggregates and triggers keep.",
		NAMES("ExecutorState", "ExprContext", "PortalContext", "SPI Proc", "SPI Exec",
			  "SPI TupTable", "PLpgSQL per-statement data", "printtup", "Table function arguments",
			  "tSRF function arguments", "SRF multi-call context", "WindowAgg Aggregates",
			  "WindowAgg Partition", "WindowAgg Per Aggregate", "JIT context", "accumArrayResult",
			  "accumArrayResultArr", "expanded array", "expanded record", "RecursiveUnion")
	},
	{
		PLH_FAMILY_STATEMENT, "statements' texts, parse trees and plans",
		"Each statement that is parsed and planned has them until it ends.",
		"Their size depends on the length of the statement, and on how many tables and partitions it has.",
		"Make the statement shorter: split it, pass large values and long lists as parameters (= ANY ($1)), or let it use fewer tables and partitions.",
		NAMES("MessageContext", "RowDescriptionContext", "per-parsetree message context",
			  "inline_function", "explain analyze planner context")
	}
};

/* A name, and whose it is. */
typedef struct KnownName
{
	const char *name;
	const PlhFamily *family;
} KnownName;

#define MAX_NAMES 160

/* All names in the order of strcmp, once they are needed. */
static PLH_SAME_IN_CHILD PLH_LARGE KnownName known_names[MAX_NAMES];
static PLH_SAME_IN_CHILD int known_count;

/* qsort and bsearch comparator. */
static int
compare_names(const void *a, const void *b)
{
	return strcmp(((const KnownName *) a)->name, ((const KnownName *) b)->name);
}

static void
sort_names(void)
{
	for (int i = 0; i < lengthof(families); i++)
		for (const char *const *name = families[i].names; *name != NULL; name++)
		{
			Assert(known_count < MAX_NAMES);
			known_names[known_count++] = (KnownName)
			{
				*name, &families[i]
			};
		}
	qsort(known_names, known_count, sizeof(KnownName), compare_names);
}

const PlhFamily *
plh_family_of(const char *context_name)
{
	KnownName	wanted = {context_name, NULL};
	const KnownName *found;

	if (known_count == 0)
		sort_names();
	found = bsearch(&wanted, known_names, known_count, sizeof(KnownName), compare_names);
	return found == NULL ? NULL : found->family;
}
