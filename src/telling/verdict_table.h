/*
 * verdict_table.h
 *	  What the verdicts mean, what to do about them, and how findings are called.
 *
 * VERDICT_WORDS(id, tone, meaning, what to do): the tables of README.md and of doc/reference.md are
 * made of these, and the page's legend.  The tone is "bad" where memory is lost or will run out,
 * and "soft" where that is not known.
 *
 * KIND_WORDS(id, cause, headline, answer): how a finding of a kind is called in sentences, the
 * sentence of the log, and the page's answer to "leak or cache?".
 */

VERDICT_WORDS(LEAK, "bad",
			  "memory that a function allocates for the session keeps growing, transaction after transaction, or nothing points to it any more",
			  "`site` and `stack` name the function: report it to its author. Until it is fixed, limit how long such connections live, or end them from time to time")
VERDICT_WORDS(QUERY, "bad",
			  "the running statement or transaction holds far more than work_mem allows",
			  "`EXPLAIN` it; aggregates, functions, triggers and hashed subplans have no memory limit. `pg_cancel_backend` ends it now, or `pg_terminate_backend` a session that is idle in its transaction")
VERDICT_WORDS(HELD, "soft", "a few transactions left at least 32 MB in the session",
			  "end the session, unless it will need this memory again: a connection pool can do so after some time (`server_lifetime` of PgBouncer)")
VERDICT_WORDS(CONTEXTS, "bad",
			  "the number of memory contexts keeps growing, or is very large in a statement",
			  "`evidence` says what they belong to: prepared statements, cursors, subtransactions")
VERDICT_WORDS(MALLOC, "bad",
			  "memory that a library allocates with malloc keeps growing, or is more than 128 MB; where malloc does not tell what it has, all private memory outside of contexts",
			  "where `pg_leakhunt_malloc.so` is [preloaded](doc/malloc.md#preload-it), `site` and `stack` name the function, as for a leak; elsewhere `evidence` names the libraries that the process has loaded. If the process compiles queries, try `jit = off`")
VERDICT_WORDS(MAPPED, "soft",
			  "memory that belongs neither to contexts nor to malloc keeps growing, or is more than 128 MB",
			  "`evidence` names PL/Python or the JIT compiler, if the process has loaded it. Otherwise look for code that maps memory by itself")
VERDICT_WORDS(FREED, "soft",
			  "malloc has kept at least 64 MB of freed memory for a minute instead of returning it to the system",
			  "`SELECT pg_leakhunt_trim(pid)`. With glibc and `MALLOC_TRIM_THRESHOLD_=131072` in the server's environment, `malloc` does not raise its thresholds, and returns blocks of 128 kB and more when they are freed")
VERDICT_WORDS(GROWING, "soft",
			  "it grows like a cache that fills up, can still be reached, or has grown since your baseline",
			  "look again later: a leak keeps growing, a cache does not. `pg_leakhunt_baseline(pid)` sets a [baseline](doc/walkthrough.md#watch-it-grow)")

KIND_WORDS(SITE_LEAKS, cause_site, log_leak,
		   "A leak: it was allocated again and again, and is not freed.")
KIND_WORDS(MALLOC_SITE_LEAKS, cause_site, log_leak,
		   "A leak outside of memory contexts: malloc gave it out again and again, and it is not freed.")
KIND_WORDS(SITE_HOLDS, cause_site, log_held,
		   "It was allocated once and never freed: a cache, or one forgotten object.")
KIND_WORDS(SITE_GROWS, cause_site, log_growing,
		   "Not sure yet: it grows, as a leak does, or a cache that still fills.")
KIND_WORDS(SITE_LOST, cause_site, log_lost,
		   "A leak: nothing points to it, so that no code can use it or free it.")
KIND_WORDS(MALLOC_SITE_LOST, cause_site, log_lost,
		   "A leak outside of memory contexts: nothing points to it, so that no code can free it.")
KIND_WORDS(SITE_REACHED, cause_site, log_growing,
		   "Not sure yet: it grows as a leak does, but can still be reached, as in a cache.")
KIND_WORDS(CONTEXTS_GROW, cause_contexts, log_contexts,
		   "Objects that pile up, as in a leak: memory contexts of one kind.")
KIND_WORDS(CONTEXTS_HOLD, cause_contexts, log_contexts,
		   "Many objects that were never freed: a cache, or forgotten ones.")
KIND_WORDS(CACHE_GROWS, cause_contexts, log_growing, "A cache of PostgreSQL that still fills.")
KIND_WORDS(DECODING, cause_contexts, log_decoding,
		   "Neither: the memory of transactions that are decoded, freed when these are sent.")
KIND_WORDS(STATEMENT, cause_statement, log_statement,
		   "Neither: the memory of one statement or transaction, freed at its end.")
KIND_WORDS(MALLOC_GROWS, cause_malloc, log_malloc,
		   "A leak or a cache outside of memory contexts: memory from malloc that was not given back.")
KIND_WORDS(MALLOC_REACHED, cause_malloc, log_malloc,
		   "Not sure yet: it grows outside of memory contexts, and can still be reached, as a cache can.")
KIND_WORDS(MAPPED_GROWS, cause_mapped, log_mapped,
		   "A leak or a cache outside of memory contexts: memory that was mapped, and not given back.")
KIND_WORDS(OUTSIDE_GROWS, cause_outside, log_outside,
		   "A leak or a cache outside of memory contexts, which malloc does not tell more of.")
KIND_WORDS(MALLOC_KEEPS, cause_freed, log_freed,
		   "Neither: the session freed it, but malloc has not returned it to the system.")
KIND_WORDS(PROCESS_GROWS, cause_process, log_growing,
		   "Not sure yet: it grows, as a leak does, or a cache that still fills.")
