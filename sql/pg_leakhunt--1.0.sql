/* sql/pg_leakhunt--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION pg_leakhunt" to load this file. \quit

--
-- Call sites that are known, and not to be reported
--

CREATE TABLE pg_leakhunt_suppressions(
    pattern text PRIMARY KEY
        CHECK (regexp_replace(pattern, '^(leak:|context:)', '') ~ '[^*^$]'),
    reason text);

COMMENT ON TABLE pg_leakhunt_suppressions IS
'patterns of call sites that are no findings';
COMMENT ON COLUMN pg_leakhunt_suppressions.pattern IS
'primary key; matches call sites in the manner of LeakSanitizer, see pg_leakhunt_suppressions';
COMMENT ON COLUMN pg_leakhunt_suppressions.reason IS
'why these are no leaks, or why they do not matter';

SELECT pg_extension_config_dump('pg_leakhunt_suppressions', '');

--
-- Processes: what they are and hold
--
-- Functions whose names begin with an underscore are behind views, or for programs.
--

CREATE FUNCTION _pg_leakhunt_processes(
    -- columns/processes.def
    OUT pid int,
    OUT backend_type text,
    OUT state text,
    OUT database text,
    OUT username text,
    OUT application_name text,
    OUT started_at timestamptz,
    OUT live_bytes bigint,
    OUT peak_bytes bigint,
    OUT peak_at timestamptz,
    OUT growth_bytes bigint,
    OUT context_bytes bigint,
    OUT context_free_bytes bigint,
    OUT malloc_bytes bigint,
    OUT malloc_free_bytes bigint,
    OUT rss_anon_bytes bigint,
    OUT counted_at timestamptz,
    OUT died_at timestamptz,
    OUT death text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_processes'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION _pg_leakhunt_processes() IS
'Returns the rows of the view pg_leakhunt_processes, in no order.';

CREATE VIEW pg_leakhunt_processes AS
    SELECT * FROM _pg_leakhunt_processes()
    ORDER BY live_bytes DESC NULLS LAST, rss_anon_bytes DESC NULLS LAST, pid;

COMMENT ON VIEW pg_leakhunt_processes IS
'memory of each process, in bytes';
-- columns/processes.def
COMMENT ON COLUMN pg_leakhunt_processes.pid IS
'process id, as from pg_backend_pid()';
COMMENT ON COLUMN pg_leakhunt_processes.backend_type IS
'as in pg_stat_activity, and "postmaster"; null for processes that pg_stat_activity does not have, such as the logger';
COMMENT ON COLUMN pg_leakhunt_processes.state IS
'"live": has a profile. "unpublished": its profile does not fit into /dev/shm, or pg_leakhunt.profile_directory. "small": has kept too little for a profile. "crashed": is gone and did not exit cleanly. "not loaded": runs without pg_leakhunt. Null where this cannot be known; see Counts';
COMMENT ON COLUMN pg_leakhunt_processes.database IS
'database that the process is connected to; null if none';
COMMENT ON COLUMN pg_leakhunt_processes.username IS
'role that the process was authenticated as; null if none';
COMMENT ON COLUMN pg_leakhunt_processes.application_name IS
'as in pg_stat_activity; for a process that is gone, at its last count; null if it had set none';
COMMENT ON COLUMN pg_leakhunt_processes.started_at IS
'when the process started; null where neither a profile nor pg_stat_activity has that';
COMMENT ON COLUMN pg_leakhunt_processes.live_bytes IS
'allocated while sampling, in scope, and not freed yet, as requested by the callers; includes malloc where malloc_tracked; estimate; in bytes';
COMMENT ON COLUMN pg_leakhunt_processes.peak_bytes IS
'highest live_bytes so far; estimate; in bytes';
COMMENT ON COLUMN pg_leakhunt_processes.peak_at IS
'when live_bytes was highest; null if nothing was sampled yet';
COMMENT ON COLUMN pg_leakhunt_processes.growth_bytes IS
'live_bytes since the baseline; null without one; estimate; in bytes';
COMMENT ON COLUMN pg_leakhunt_processes.context_bytes IS
'held by all memory contexts, from malloc, at counted_at; exact; null before the first count; in bytes';
COMMENT ON COLUMN pg_leakhunt_processes.context_free_bytes IS
'part of context_bytes that is free inside the contexts; exact; null where it would take too long to count, see Counts; in bytes';
COMMENT ON COLUMN pg_leakhunt_processes.malloc_bytes IS
'in use by malloc at counted_at; what exceeds context_bytes is used outside of memory contexts; null if malloc does not tell, as mimalloc''s; in bytes';
COMMENT ON COLUMN pg_leakhunt_processes.malloc_free_bytes IS
'free in malloc at counted_at: it was not returned to the kernel; null if malloc does not tell, as mimalloc''s; in bytes';
COMMENT ON COLUMN pg_leakhunt_processes.rss_anon_bytes IS
'resident anonymous memory now, RssAnon in /proc; null for a process that is gone; in bytes';
COMMENT ON COLUMN pg_leakhunt_processes.counted_at IS
'when the process last counted its contexts and malloc; null before the first count; see Counts';
COMMENT ON COLUMN pg_leakhunt_processes.died_at IS
'when the postmaster noticed that the process had died. If another process crashed first: when the server had restarted. Null for a process that lives, and after the server itself stopped or died';
COMMENT ON COLUMN pg_leakhunt_processes.death IS
'how a crashed process died, as in the log: "terminated by signal 9: Killed". If another process crashed first: "ended with process 4711". Null where died_at is null, or log_min_messages hides that message';

CREATE FUNCTION _pg_leakhunt_sampling(
    -- columns/sampling.def
    OUT pid int,
    OUT sampling bool,
    OUT sample_interval bigint,
    OUT scope text,
    OUT request text,
    OUT live_count bigint,
    OUT samples_live bigint,
    OUT samples_taken bigint,
    OUT samples_dropped bigint,
    OUT sites bigint,
    OUT last_sample_at timestamptz,
    OUT unsampled_bytes bigint,
    OUT malloc_tracked bool,
    OUT malloc_untracked_bytes bigint,
    OUT limit_bytes bigint,
    OUT limit_hits bigint,
    OUT overhead_bytes bigint,
    OUT profile_bytes bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_sampling'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION _pg_leakhunt_sampling() IS
'Returns the rows of the view pg_leakhunt_sampling, in no order.';

CREATE VIEW pg_leakhunt_sampling AS
    SELECT * FROM _pg_leakhunt_sampling()
    ORDER BY pid;

COMMENT ON VIEW pg_leakhunt_sampling IS
'how each process is sampled';
-- columns/sampling.def
COMMENT ON COLUMN pg_leakhunt_sampling.pid IS
'process id, as in pg_leakhunt_processes';
COMMENT ON COLUMN pg_leakhunt_sampling.sampling IS
'whether the process takes samples now';
COMMENT ON COLUMN pg_leakhunt_sampling.sample_interval IS
'mean number of allocated bytes between two samples; 0 while not sampling. For memory that ends with a query or transaction it may be eight times that; in bytes';
COMMENT ON COLUMN pg_leakhunt_sampling.scope IS
'"long_lived": only samples of contexts of lifetime "session" are kept. "all": samples of all contexts are kept. Samples of malloc are kept in either case';
COMMENT ON COLUMN pg_leakhunt_sampling.request IS
'what was asked of the process by pg_leakhunt_start and the like: "pending" until its profile shows it, then "in force". Null without a request, and for a process that is gone or without pg_leakhunt; see Counts';
COMMENT ON COLUMN pg_leakhunt_sampling.live_count IS
'number of the chunks that live_bytes of pg_leakhunt_processes is of; estimate';
COMMENT ON COLUMN pg_leakhunt_sampling.samples_live IS
'samples that these are estimated from';
COMMENT ON COLUMN pg_leakhunt_sampling.samples_taken IS
'all samples, including those out of scope';
COMMENT ON COLUMN pg_leakhunt_sampling.samples_dropped IS
'samples that are not counted as live, or not at their call site, for lack of room; see Counts';
COMMENT ON COLUMN pg_leakhunt_sampling.sites IS
'call sites that are known now, including those of which nothing is left; see Counts';
COMMENT ON COLUMN pg_leakhunt_sampling.last_sample_at IS
'when the last sample was kept';
COMMENT ON COLUMN pg_leakhunt_sampling.unsampled_bytes IS
'allocated in memory contexts while nothing was sampled, including freed chunks; no call site has them. Null where it is not known; see Counts; in bytes';
COMMENT ON COLUMN pg_leakhunt_sampling.malloc_tracked IS
'whether allocations of malloc outside of contexts are sampled: pg_leakhunt_malloc.so was preloaded, and pg_leakhunt.track_malloc is on';
COMMENT ON COLUMN pg_leakhunt_sampling.malloc_untracked_bytes IS
'ever allocated with malloc by other threads of the process, at counted_at; these are not sampled. Null where malloc is not tracked; see Counts; in bytes';
COMMENT ON COLUMN pg_leakhunt_sampling.limit_bytes IS
'private memory that the process may have, by its pg_leakhunt.process_memory_limit; null where it has no limit; in bytes';
COMMENT ON COLUMN pg_leakhunt_sampling.limit_hits IS
'how often a memory limit applied to the process: its own, or server_memory_limit; see Counts';
COMMENT ON COLUMN pg_leakhunt_sampling.overhead_bytes IS
'memory that pg_leakhunt itself takes in the process, including the profile; in bytes';
COMMENT ON COLUMN pg_leakhunt_sampling.profile_bytes IS
'size of the profile; in bytes';

CREATE FUNCTION pg_leakhunt_history(
    pid int,
    by text DEFAULT NULL,
    -- columns/history.def
    OUT at timestamptz,
    OUT name text,
    OUT context_name text,
    OUT bytes bigint,
    OUT contexts bigint,
    OUT stack_id bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_history'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_history(int, text) IS
'What a process held over time, in bytes; by ''family'' (of contexts) or ''site'', of its largest parts. A wrong pid is a WARNING.';

CREATE FUNCTION pg_leakhunt_history(
    target text,
    by text DEFAULT NULL,
    -- columns/history.def
    OUT at timestamptz,
    OUT name text,
    OUT context_name text,
    OUT bytes bigint,
    OUT contexts bigint,
    OUT stack_id bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_history'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_history(text, text) IS
'What the process of a dump held over time, in bytes. A damaged file is an ERROR.';

CREATE FUNCTION pg_leakhunt_ages(
    pid int,
    -- columns/ages.def
    OUT site text,
    OUT context_name text,
    OUT lifetime text,
    OUT query_id bigint,
    OUT query text,
    OUT allocated_from timestamptz,
    OUT allocated_until timestamptz,
    OUT older_than interval,
    OUT live_bytes bigint,
    OUT error_bytes bigint,
    OUT total_bytes bigint,
    OUT survival float8,
    OUT stack_id bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_ages'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_ages(int) IS
'When the call sites of a process allocated what they hold; estimates, in bytes. A wrong pid is a WARNING.';

CREATE FUNCTION pg_leakhunt_ages(
    target text,
    -- columns/ages.def
    OUT site text,
    OUT context_name text,
    OUT lifetime text,
    OUT query_id bigint,
    OUT query text,
    OUT allocated_from timestamptz,
    OUT allocated_until timestamptz,
    OUT older_than interval,
    OUT live_bytes bigint,
    OUT error_bytes bigint,
    OUT total_bytes bigint,
    OUT survival float8,
    OUT stack_id bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_ages'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_ages(text) IS
'When the call sites of a dump allocated what they held; estimates, in bytes. A damaged file is an ERROR.';

CREATE FUNCTION pg_leakhunt_proof(
    pid int,
    redact bool DEFAULT false,
    -- columns/proof.def
    OUT proven_at timestamptz,
    OUT context_name text,
    OUT lifetime text,
    OUT site text,
    OUT kind text,
    OUT content text,
    OUT chunks bigint,
    OUT bytes bigint,
    OUT lost_chunks bigint,
    OUT lost_bytes bigint,
    OUT resettable_chunks bigint,
    OUT resettable_bytes bigint,
    OUT held_by text,
    OUT held_by_bytes bigint,
    OUT path text,
    OUT stack_id bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_proof'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_proof(int, bool) IS
'Proves which memory of a process nothing points to, and who holds the rest; in bytes. It forks that process. A wrong pid is a WARNING.';

CREATE FUNCTION pg_leakhunt_proof(
    target text,
    redact bool DEFAULT false,
    -- columns/proof.def
    OUT proven_at timestamptz,
    OUT context_name text,
    OUT lifetime text,
    OUT site text,
    OUT kind text,
    OUT content text,
    OUT chunks bigint,
    OUT bytes bigint,
    OUT lost_chunks bigint,
    OUT lost_bytes bigint,
    OUT resettable_chunks bigint,
    OUT resettable_bytes bigint,
    OUT held_by text,
    OUT held_by_bytes bigint,
    OUT path text,
    OUT stack_id bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_proof'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_proof(text, bool) IS
'The last proof of the process before the dump; in bytes. A dump without one is a WARNING, a damaged file an ERROR.';

CREATE FUNCTION _pg_leakhunt_symbols(
    -- columns/symbols.def
    OUT path text,
    OUT build_id text,
    OUT source text,
    OUT file text,
    OUT hint text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_symbols'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION _pg_leakhunt_symbols() IS
'Returns the rows of the view pg_leakhunt_symbols, once for each process that has the module in its profile.';

CREATE VIEW pg_leakhunt_symbols AS
    SELECT DISTINCT path, build_id, source, file, hint
    FROM _pg_leakhunt_symbols()
    ORDER BY path, build_id;

COMMENT ON VIEW pg_leakhunt_symbols IS
'where names of functions come from';
-- columns/symbols.def
COMMENT ON COLUMN pg_leakhunt_symbols.path IS
'file that the binary was loaded from';
COMMENT ON COLUMN pg_leakhunt_symbols.build_id IS
'the linker''s name for exactly this version of it; null if it has no build-id';
COMMENT ON COLUMN pg_leakhunt_symbols.source IS
'"debug information": functions, including inlined ones, with file and line. "symbol table": all functions. "dynamic symbols": exported functions only. "nothing": binary and offset';
COMMENT ON COLUMN pg_leakhunt_symbols.file IS
'file that has it: the binary itself, or a debug file; null if nothing was found';
COMMENT ON COLUMN pg_leakhunt_symbols.hint IS
'how to see more; null if there is nothing to do';

--
-- Call sites
--

CREATE FUNCTION pg_leakhunt_report(
    pid int,
    with_stacks bool DEFAULT true,
    -- columns/report.def
    OUT pid int,
    OUT backend_type text,
    OUT context_name text,
    OUT lifetime text,
    OUT query_id bigint,
    OUT query text,
    OUT live_bytes bigint,
    OUT live_count bigint,
    OUT error_bytes bigint,
    OUT growth_bytes bigint,
    OUT growth_count bigint,
    OUT peak_bytes bigint,
    OUT total_bytes bigint,
    OUT total_count bigint,
    OUT survival float8,
    OUT samples bigint,
    OUT first_at timestamptz,
    OUT last_at timestamptz,
    OUT site text,
    OUT routine text,
    OUT stack text[],
    OUT stack_id bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_report'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_report(int, bool) IS
'What each call site of a process holds; estimates, in bytes. Without stacks it is faster. A wrong pid is a WARNING.';

CREATE FUNCTION pg_leakhunt_report(
    target text,
    with_stacks bool DEFAULT true,
    -- columns/report.def
    OUT pid int,
    OUT backend_type text,
    OUT context_name text,
    OUT lifetime text,
    OUT query_id bigint,
    OUT query text,
    OUT live_bytes bigint,
    OUT live_count bigint,
    OUT error_bytes bigint,
    OUT growth_bytes bigint,
    OUT growth_count bigint,
    OUT peak_bytes bigint,
    OUT total_bytes bigint,
    OUT total_count bigint,
    OUT survival float8,
    OUT samples bigint,
    OUT first_at timestamptz,
    OUT last_at timestamptz,
    OUT site text,
    OUT routine text,
    OUT stack text[],
    OUT stack_id bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_report'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_report(text, bool) IS
'What each call site held in a dump, or holds in ''all'' processes; estimates, in bytes. A damaged file is an ERROR.';

CREATE VIEW pg_leakhunt_report AS
    SELECT * FROM pg_leakhunt_report('all')
    ORDER BY live_bytes DESC;

COMMENT ON VIEW pg_leakhunt_report IS
'memory per call site; estimate, in bytes';
-- columns/report.def
COMMENT ON COLUMN pg_leakhunt_report.pid IS
'process id';
COMMENT ON COLUMN pg_leakhunt_report.backend_type IS
'as in pg_stat_activity, and "postmaster"';
COMMENT ON COLUMN pg_leakhunt_report.context_name IS
'name of the memory context; [malloc] for what was allocated with malloc, outside of contexts; null in the row [no room]';
COMMENT ON COLUMN pg_leakhunt_report.lifetime IS
'how long such a context lives: "session", "transaction", "statement", "query" or "error". "process" for [malloc], where memory stays until it is freed. Plans and partition descriptors count as "session"; see Counts';
COMMENT ON COLUMN pg_leakhunt_report.query_id IS
'as in pg_stat_activity; null where the server had computed none';
COMMENT ON COLUMN pg_leakhunt_report.query IS
'first 1024 bytes of the top-level statement, or of the first where several count as one statement. Null where no statement was running, or the text was not kept; see Counts';
COMMENT ON COLUMN pg_leakhunt_report.live_bytes IS
'allocated here and not freed yet, as requested by the caller; estimate; in bytes';
COMMENT ON COLUMN pg_leakhunt_report.live_count IS
'number of these chunks; estimate';
COMMENT ON COLUMN pg_leakhunt_report.error_bytes IS
'95% error bound of live_bytes, in either direction; 0 means exact; in bytes';
COMMENT ON COLUMN pg_leakhunt_report.growth_bytes IS
'live_bytes since the baseline; null without one; estimate; in bytes';
COMMENT ON COLUMN pg_leakhunt_report.growth_count IS
'live_count since the baseline; null without one; estimate';
COMMENT ON COLUMN pg_leakhunt_report.peak_bytes IS
'live_bytes of this call site when those of the process were highest; estimate; in bytes';
COMMENT ON COLUMN pg_leakhunt_report.total_bytes IS
'ever allocated here, freed chunks included; estimate; in bytes';
COMMENT ON COLUMN pg_leakhunt_report.total_count IS
'number of these chunks; estimate';
COMMENT ON COLUMN pg_leakhunt_report.survival IS
'live_bytes / total_bytes: 1 where nothing is ever freed';
COMMENT ON COLUMN pg_leakhunt_report.samples IS
'samples that live_bytes is estimated from';
COMMENT ON COLUMN pg_leakhunt_report.first_at IS
'when the first sample was taken';
COMMENT ON COLUMN pg_leakhunt_report.last_at IS
'when the last sample was taken';
COMMENT ON COLUMN pg_leakhunt_report.site IS
'the function that allocates: the first frame of the stack that is no helper such as "pstrdup"; or a word in brackets';
COMMENT ON COLUMN pg_leakhunt_report.routine IS
'innermost function, procedure, trigger or DO block in SQL or a procedural language, with its line if known: "shop.add_item(integer) line 12". Null where none was running; see Routines';
COMMENT ON COLUMN pg_leakhunt_report.stack IS
'all frames, innermost first; null where "site" is in brackets';
COMMENT ON COLUMN pg_leakhunt_report.stack_id IS
'identifies the stack, in all processes that run the same binaries';

CREATE FUNCTION _pg_leakhunt_contexts(
    -- columns/contexts.def
    OUT pid int,
    OUT backend_type text,
    OUT context_name text,
    OUT lifetime text,
    OUT instances bigint,
    OUT context_bytes bigint,
    OUT live_bytes bigint,
    OUT live_count bigint,
    OUT growth_bytes bigint,
    OUT sites bigint,
    OUT examples text[])
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_contexts'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION _pg_leakhunt_contexts() IS
'Returns the rows of the view pg_leakhunt_contexts, those of one process the largest first.';

CREATE VIEW pg_leakhunt_contexts AS
    SELECT * FROM _pg_leakhunt_contexts()
    ORDER BY greatest(live_bytes, context_bytes) DESC;

COMMENT ON VIEW pg_leakhunt_contexts IS
'memory per kind of context, in bytes';
-- columns/contexts.def
COMMENT ON COLUMN pg_leakhunt_contexts.pid IS
'process id';
COMMENT ON COLUMN pg_leakhunt_contexts.backend_type IS
'as in pg_stat_activity, and "postmaster"';
COMMENT ON COLUMN pg_leakhunt_contexts.context_name IS
'name of the memory contexts, or [malloc]; null for samples whose call site did not fit into the profile';
COMMENT ON COLUMN pg_leakhunt_contexts.lifetime IS
'how long such contexts live, as in pg_leakhunt_report';
COMMENT ON COLUMN pg_leakhunt_contexts.instances IS
'contexts of that name at pg_leakhunt_processes.counted_at; null if there were none, and for [malloc]';
COMMENT ON COLUMN pg_leakhunt_contexts.context_bytes IS
'what these contexts had from malloc at that time; exact; null where "instances" is; in bytes';
COMMENT ON COLUMN pg_leakhunt_contexts.live_bytes IS
'allocated in them and not freed yet; estimate; in bytes';
COMMENT ON COLUMN pg_leakhunt_contexts.live_count IS
'number of these chunks; estimate';
COMMENT ON COLUMN pg_leakhunt_contexts.growth_bytes IS
'live_bytes since the baseline; null without one; estimate; in bytes';
COMMENT ON COLUMN pg_leakhunt_contexts.sites IS
'call sites that allocated in them';
COMMENT ON COLUMN pg_leakhunt_contexts.examples IS
'objects or statements that up to four of them belong to, those with most bytes first; null where that is not known';

--
-- Verdicts
--

CREATE FUNCTION _pg_leakhunt(
    -- columns/pg_leakhunt.def
    OUT pid int,
    OUT verdict text,
    OUT size text,
    OUT what text,
    OUT who text,
    OUT next_step text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_overview'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION _pg_leakhunt() IS
'Returns the rows of the view pg_leakhunt, in its order.';

CREATE VIEW pg_leakhunt AS
    SELECT * FROM _pg_leakhunt();

COMMENT ON VIEW pg_leakhunt IS
'who leaks, and what to do: begin here';
-- columns/pg_leakhunt.def
COMMENT ON COLUMN pg_leakhunt.pid IS
'process id; of several processes, the one that holds most. Null where there is no finding';
COMMENT ON COLUMN pg_leakhunt.verdict IS
'as in pg_leakhunt_suspects; "none" where there is no finding';
COMMENT ON COLUMN pg_leakhunt.size IS
'what the verdict is about, of all these processes together, with its unit. An estimate for call sites. Null where there is no finding';
COMMENT ON COLUMN pg_leakhunt.what IS
'call site and context, kind of contexts or statement that has it, and the routine that allocates it, if there is one';
COMMENT ON COLUMN pg_leakhunt.who IS
'application, role, database, and the type if it is no client; how many processes have the same cause, and whether they have crashed. Where there is no finding, how many processes were judged';
COMMENT ON COLUMN pg_leakhunt.next_step IS
'what to do first, in that process; where some have no verdict yet, how to see more. Null if nothing is to be done';

CREATE FUNCTION _pg_leakhunt_suspects(
    -- columns/suspects.def
    OUT pid int,
    OUT verdict text,
    OUT bytes bigint,
    OUT bytes_per_hour bigint,
    OUT site text,
    OUT routine text,
    OUT context_name text,
    OUT application_name text,
    OUT username text,
    OUT database text,
    OUT backend_type text,
    OUT process_state text,
    OUT next_step text,
    OUT evidence text,
    OUT growth_bytes bigint,
    OUT since timestamptz,
    OUT lost_bytes bigint,
    OUT held_by text,
    OUT score float8,
    OUT survival float8,
    OUT transactions bigint,
    OUT query_id bigint,
    OUT query text,
    OUT stack text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_suspects'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION _pg_leakhunt_suspects() IS
'Returns the rows of the view pg_leakhunt_suspects, in no order.';

CREATE VIEW pg_leakhunt_suspects AS
    SELECT * FROM _pg_leakhunt_suspects() s
    ORDER BY process_state = 'crashed', verdict = 'growing', bytes DESC, score DESC;

COMMENT ON VIEW pg_leakhunt_suspects IS
'all findings, the largest first, in bytes';
-- columns/suspects.def
COMMENT ON COLUMN pg_leakhunt_suspects.pid IS
'process id';
COMMENT ON COLUMN pg_leakhunt_suspects.verdict IS
'"leak", "query", "held", "contexts", "malloc", "mapped", "freed" or "growing", see Verdicts';
COMMENT ON COLUMN pg_leakhunt_suspects.bytes IS
'the memory that the verdict is about. An estimate for a call site, exact for "contexts", "mapped", "freed", and "malloc" without a call site. For "query", all that the statement or transaction holds; in bytes';
COMMENT ON COLUMN pg_leakhunt_suspects.bytes_per_hour IS
'rate of growth, until it last grew; estimate. Null where too little time has passed, or it has stopped; see Counts; in bytes per hour';
COMMENT ON COLUMN pg_leakhunt_suspects.site IS
'the function that allocates, as in pg_leakhunt_report; for "contexts" and "query", where the largest part was allocated, or the function that 80% of it was allocated in or below. For several call sites of one cause, the function that leads to them. Null for the process as a whole, or if no function has 15% of it and none leads to 80%';
COMMENT ON COLUMN pg_leakhunt_suspects.routine IS
'the routine in which most of it was allocated, as in pg_leakhunt_report; null where there was none';
COMMENT ON COLUMN pg_leakhunt_suspects.context_name IS
'name of the memory context; [malloc] for what a call site has from malloc';
COMMENT ON COLUMN pg_leakhunt_suspects.application_name IS
'as in pg_stat_activity; for a process that is gone, at its last count; null if it had set none';
COMMENT ON COLUMN pg_leakhunt_suspects.username IS
'role that the process was authenticated as; null if none';
COMMENT ON COLUMN pg_leakhunt_suspects.database IS
'database that the process is connected to; null if none';
COMMENT ON COLUMN pg_leakhunt_suspects.backend_type IS
'as in pg_stat_activity, and "postmaster"';
COMMENT ON COLUMN pg_leakhunt_suspects.process_state IS
'state of the process, as in pg_leakhunt_processes: "live", "unpublished" or "crashed". Findings of crashed processes stay until the next start of the server';
COMMENT ON COLUMN pg_leakhunt_suspects.next_step IS
'what to do first, in lines of at most 60 characters; "evidence" has the rest. Null if nothing is to be done';
COMMENT ON COLUMN pg_leakhunt_suspects.evidence IS
'why the row is here, and what to do next, in lines of at most 60 characters; for "malloc" without a call site, also the libraries of the process that call it';
COMMENT ON COLUMN pg_leakhunt_suspects.growth_bytes IS
'growth of "bytes" since the baseline, an estimate; null without one. For "mapped", and "malloc" without a call site: since the start of the history, exact; in bytes';
COMMENT ON COLUMN pg_leakhunt_suspects.since IS
'start of the time in which growth_bytes was gained: the baseline. For "mapped", and "malloc" without a call site: the start of the history. Null where growth_bytes is null';
COMMENT ON COLUMN pg_leakhunt_suspects.lost_bytes IS
'part of what the call site holds that nothing in the process points to, when that was last proven; estimate. Null where nothing was proven, see Proof; in bytes';
COMMENT ON COLUMN pg_leakhunt_suspects.held_by IS
'from where most of what is not lost can be reached: a variable, a hash table, the stack. Null where that is not known';
COMMENT ON COLUMN pg_leakhunt_suspects.score IS
'how sure the verdict is, from 0 to 1';
COMMENT ON COLUMN pg_leakhunt_suspects.survival IS
'part of all bytes ever allocated here that is not freed: 1 where nothing is ever freed; null where there is no call site';
COMMENT ON COLUMN pg_leakhunt_suspects.transactions IS
'transactions in which the call site had samples; 1 in a process without transactions; null where there is no call site';
COMMENT ON COLUMN pg_leakhunt_suspects.query_id IS
'of the statement for which most is held; null where the server had computed none';
COMMENT ON COLUMN pg_leakhunt_suspects.query IS
'text of the statement for which most is held, with further line breaks between words where a line has more than 60 characters. Null where no statement was running, or it is not known; see Counts';
COMMENT ON COLUMN pg_leakhunt_suspects.stack IS
'all frames, innermost first, one per line; null where there is no call site';

CREATE FUNCTION pg_leakhunt_explain(
    pid int,
    format text DEFAULT 'text',
    redact bool DEFAULT false,
    -- columns/explain.def
    OUT pid int,
    OUT explanation text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_explain'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_explain(int, text, bool) IS
'Tells in sentences what a process holds, the verdict or why there is none, and what to do. Format ''json'' is for programs. A wrong pid is a WARNING.';

CREATE FUNCTION pg_leakhunt_explain(
    target text DEFAULT 'all',
    format text DEFAULT 'text',
    redact bool DEFAULT false,
    -- columns/explain.def
    OUT pid int,
    OUT explanation text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_explain'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_explain(text, text, bool) IS
'Tells the same of a dump, or of the server and its processes. Format ''json'' is for programs. A damaged file is an ERROR.';

CREATE FUNCTION pg_leakhunt_explain_contexts(
    statistics text,
    format text DEFAULT 'text',
    redact bool DEFAULT false)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_leakhunt_explain_contexts'
LANGUAGE C CALLED ON NULL INPUT STABLE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_explain_contexts(text, text, bool) IS
'Explains a log, or a part of one: statistics of memory contexts, messages about memory, the kernel''s report of a kill. Null if the text is null.';

CREATE FUNCTION pg_leakhunt_memory(
    control_group text DEFAULT NULL,
    -- columns/memory.def
    OUT number int,
    OUT part_of int,
    OUT part text,
    OUT title text,
    OUT bytes bigint,
    OUT share float8,
    OUT processes int,
    OUT detail text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_memory'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_memory(text) IS
'What the memory of the server''s control group, or of the machine, consists of, in bytes. An ERROR without privileges of pg_read_all_stats.';

CREATE FUNCTION _pg_leakhunt_metrics(
    -- columns/metrics.def
    OUT name text,
    OUT backend_type text,
    OUT verdict text,
    OUT context_name text,
    OUT site text,
    OUT query_id bigint,
    OUT query text,
    OUT value float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_metrics'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION _pg_leakhunt_metrics() IS
'Returns the rows of the view pg_leakhunt_metrics.';

CREATE VIEW pg_leakhunt_metrics AS
    SELECT * FROM _pg_leakhunt_metrics();

COMMENT ON VIEW pg_leakhunt_metrics IS
'figures for monitoring, one per row';
-- columns/metrics.def
COMMENT ON COLUMN pg_leakhunt_metrics.name IS
'what the value is, see Metrics';
COMMENT ON COLUMN pg_leakhunt_metrics.backend_type IS
'type of the processes that are added up, as in pg_stat_activity, or "postmaster". "other": types that pg_stat_activity does not have, and those beyond 16. Null: the whole server';
COMMENT ON COLUMN pg_leakhunt_metrics.verdict IS
'verdict of a suspect, see Verdicts; null where the value is about no suspect';
COMMENT ON COLUMN pg_leakhunt_metrics.context_name IS
'memory context of a suspect; null where it is about the processes as a whole';
COMMENT ON COLUMN pg_leakhunt_metrics.site IS
'call site of a suspect, as in pg_leakhunt_suspects; module+offset while its name is not known in this session';
COMMENT ON COLUMN pg_leakhunt_metrics.query_id IS
'query id of a statement in pg_leakhunt_statements; null where the server had computed none, and where the value is about no statement';
COMMENT ON COLUMN pg_leakhunt_metrics.query IS
'text of that statement, in one line, at most 100 characters. Statements of the same text, of several roles or databases, are one, with the highest peak';
COMMENT ON COLUMN pg_leakhunt_metrics.value IS
'the figure, in the unit that its name says, of the processes that the caller may see';

CREATE FUNCTION _pg_leakhunt_suppressed(
    -- columns/suppressed.def
    OUT pattern text,
    OUT reason text,
    OUT sites bigint,
    OUT processes bigint,
    OUT live_bytes bigint,
    OUT live_count bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_suppressed'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION _pg_leakhunt_suppressed() IS
'Returns the rows of the view pg_leakhunt_suppressed.';

CREATE VIEW pg_leakhunt_suppressed AS
    SELECT * FROM _pg_leakhunt_suppressed()
    ORDER BY live_bytes DESC, pattern;

COMMENT ON VIEW pg_leakhunt_suppressed IS
'what each suppression matches now';
-- columns/suppressed.def
COMMENT ON COLUMN pg_leakhunt_suppressed.pattern IS
'as in pg_leakhunt_suppressions';
COMMENT ON COLUMN pg_leakhunt_suppressed.reason IS
'as in pg_leakhunt_suppressions';
COMMENT ON COLUMN pg_leakhunt_suppressed.sites IS
'call sites that match, in all processes; each counts for all patterns that match it';
COMMENT ON COLUMN pg_leakhunt_suppressed.processes IS
'processes that have such call sites';
COMMENT ON COLUMN pg_leakhunt_suppressed.live_bytes IS
'allocated there and not freed yet; estimate; in bytes';
COMMENT ON COLUMN pg_leakhunt_suppressed.live_count IS
'number of these chunks; estimate';

CREATE FUNCTION pg_leakhunt_check(
    query text,
    iterations int DEFAULT 100,
    warmup int DEFAULT 10,
    fail text DEFAULT NULL,
    -- columns/check.def
    OUT bytes_per_iteration float8,
    OUT objects_per_iteration float8,
    OUT proof text,
    OUT context_name text,
    OUT site text,
    OUT routine text,
    OUT stack text[],
    OUT held_by text,
    OUT failures int,
    OUT failing_allocation bigint,
    OUT failing_site text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_check'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION pg_leakhunt_check(text, int, int, text) IS
'Runs a statement again and again, and returns what it leaks each time, in bytes; no row means no leak. What the statement does stays done. Errors of the statement are ERRORs.';

CREATE FUNCTION pg_leakhunt_explain_analyze(
    query text,
    options text DEFAULT '')
RETURNS SETOF text
AS 'MODULE_PATHNAME', 'pg_leakhunt_explain_analyze'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION pg_leakhunt_explain_analyze(text, text) IS
'Runs a statement as EXPLAIN (ANALYZE) does, and shows what each node of its plan held. What the statement does stays done.';

CREATE FUNCTION pg_leakhunt_estimate(
    query text,
    -- columns/estimate.def
    OUT part text,
    OUT bytes bigint,
    OUT explanation text,
    OUT kind text,
    OUT processes int,
    OUT planned_bytes bigint,
    OUT calls bigint,
    OUT error_bytes bigint,
    OUT node_id int)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_estimate'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION pg_leakhunt_estimate(text) IS
'What a statement would take, without running it, in bytes: what settings allow, and what its calls have taken.';

--
-- What statements took
--

CREATE FUNCTION _pg_leakhunt_statements(
    -- columns/statements.def
    OUT query_id bigint,
    OUT query text,
    OUT database text,
    OUT username text,
    OUT dbid oid,
    OUT userid oid,
    OUT calls bigint,
    OUT mean_peak_bytes bigint,
    OUT max_peak_bytes bigint,
    OUT error_bytes bigint,
    OUT max_private_bytes bigint,
    OUT max_at timestamptz,
    OUT allowed_bytes bigint,
    OUT calls_beyond bigint,
    OUT kept_bytes bigint,
    OUT context_name text,
    OUT site text,
    OUT routine text,
    OUT shared_frame text,
    OUT shared_percent int,
    OUT stack text[])
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_statements'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION _pg_leakhunt_statements() IS
'Returns the rows of the view pg_leakhunt_statements.';

CREATE VIEW pg_leakhunt_statements AS
    SELECT * FROM _pg_leakhunt_statements()
    ORDER BY max_peak_bytes DESC;

COMMENT ON VIEW pg_leakhunt_statements IS
'peaks of statements; estimate, in bytes';
-- columns/statements.def
COMMENT ON COLUMN pg_leakhunt_statements.query_id IS
'as in pg_stat_statements; null where the server had computed none';
COMMENT ON COLUMN pg_leakhunt_statements.query IS
'first 1024 bytes of the statement at its first such call, without what may be a secret; null where it is not known';
COMMENT ON COLUMN pg_leakhunt_statements.database IS
'database that it ran in; null if this server no longer has it';
COMMENT ON COLUMN pg_leakhunt_statements.username IS
'role that ran it, of the session or of SET ROLE; null if this server no longer has it';
COMMENT ON COLUMN pg_leakhunt_statements.dbid IS
'of the database, as in pg_stat_statements';
COMMENT ON COLUMN pg_leakhunt_statements.userid IS
'of the role, as in pg_stat_statements';
COMMENT ON COLUMN pg_leakhunt_statements.calls IS
'calls whose peak was at least statement_min_bytes, by the lower end of the estimate; includes calls that are running';
COMMENT ON COLUMN pg_leakhunt_statements.mean_peak_bytes IS
'mean peak of these calls; estimate; in bytes';
COMMENT ON COLUMN pg_leakhunt_statements.max_peak_bytes IS
'highest peak; estimate. For a call that is running, at least two thirds of its peak until now; in bytes';
COMMENT ON COLUMN pg_leakhunt_statements.error_bytes IS
'95% error bound of max_peak_bytes, in either direction; 0 means exact; in bytes';
COMMENT ON COLUMN pg_leakhunt_statements.max_private_bytes IS
'highest private memory that was counted during the call with the highest peak, of all of its processes; includes what they had before; null where none was counted; in bytes';
COMMENT ON COLUMN pg_leakhunt_statements.max_at IS
'when that peak was';
COMMENT ON COLUMN pg_leakhunt_statements.allowed_bytes IS
'what settings allowed a node of its plan then: work_mem times hash_mem_multiplier. For statements such as CREATE INDEX, maintenance_work_mem if that is more; in bytes';
COMMENT ON COLUMN pg_leakhunt_statements.calls_beyond IS
'calls whose peak was more than twice what settings allowed then, by the lower end of the estimate';
COMMENT ON COLUMN pg_leakhunt_statements.kept_bytes IS
'what its calls have left in sessions of that role that live, in memory that lives as long as these; estimate; in bytes';
COMMENT ON COLUMN pg_leakhunt_statements.context_name IS
'memory context of the call site with the largest part of the highest peak; [malloc] for malloc; null where it is not known';
COMMENT ON COLUMN pg_leakhunt_statements.site IS
'that call site, as in pg_leakhunt_report; null where it is not known';
COMMENT ON COLUMN pg_leakhunt_statements.routine IS
'the innermost routine of that call site; null where there was none';
COMMENT ON COLUMN pg_leakhunt_statements.shared_frame IS
'innermost function that at least 80% of that peak was allocated in, or in functions that it calls; null where one stack has as much, or no function has';
COMMENT ON COLUMN pg_leakhunt_statements.shared_percent IS
'its part of the samples at that peak, in the process of the call site; null where "shared_frame" is; in percent';
COMMENT ON COLUMN pg_leakhunt_statements.stack IS
'its frames, innermost first, 64 at most; null where "site" is';

CREATE FUNCTION pg_leakhunt_statements_reset(
    userid oid DEFAULT 0,
    dbid oid DEFAULT 0,
    query_id bigint DEFAULT 0)
RETURNS void
AS 'MODULE_PATHNAME', 'pg_leakhunt_statements_reset'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_statements_reset(oid, oid, bigint) IS
'Forgets statements of pg_leakhunt_statements; 0 stands for all.';

--
-- How many connections there may be
--

CREATE FUNCTION pg_leakhunt_capacity(
    lifetime interval DEFAULT '00:30:00',
    -- columns/capacity.def
    OUT username text,
    OUT application_name text,
    OUT sessions bigint,
    OUT sessions_seen bigint,
    OUT session_bytes bigint,
    OUT error_bytes bigint,
    OUT grows_within interval,
    OUT still_grows bool,
    OUT catalog_bytes bigint,
    OUT plan_bytes bigint,
    OUT other_context_bytes bigint,
    OUT malloc_bytes bigint,
    OUT malloc_free_bytes bigint,
    OUT beside_bytes bigint,
    OUT rest_bytes bigint,
    OUT active_most bigint,
    OUT together_bytes bigint,
    OUT together_active bigint,
    OUT together_sessions bigint,
    OUT together_at timestamptz,
    OUT highest_statement_bytes bigint,
    OUT room_bytes bigint,
    OUT connections bigint,
    OUT connections_low bigint,
    OUT connections_high bigint,
    OUT saved_bytes bigint,
    OUT looks bigint,
    OUT watched interval,
    OUT since timestamptz,
    OUT advice text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_capacity'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_capacity(interval) IS
'How many connections this host bears, and what sessions grow to; estimates, in bytes, null where too little was seen.';

CREATE FUNCTION pg_leakhunt_capacity_reset()
RETURNS void
AS 'MODULE_PATHNAME', 'pg_leakhunt_capacity_reset'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_capacity_reset() IS
'Forgets what pg_leakhunt_capacity has seen, as after a deployment.';

--
-- What acts on processes
--

CREATE FUNCTION pg_leakhunt_start(
    pid int,
    sample_interval bigint DEFAULT NULL,
    scope text DEFAULT NULL,
    duration interval DEFAULT NULL)
RETURNS bool
AS 'MODULE_PATHNAME', 'pg_leakhunt_start'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_start(int, bigint, text, interval) IS
'Samples a process once in sample_interval bytes, on average; null means as its settings say. False, after a WARNING, if it has not loaded pg_leakhunt. A null pid is an ERROR.';

CREATE FUNCTION pg_leakhunt_start(
    pid int,
    sample_interval text,
    scope text DEFAULT NULL,
    duration interval DEFAULT NULL)
RETURNS bool
AS 'MODULE_PATHNAME', 'pg_leakhunt_start'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_start(int, text, text, interval) IS
'The same, with a unit, such as ''32kB''.';

CREATE FUNCTION pg_leakhunt_stop(pid int)
RETURNS bool
AS 'MODULE_PATHNAME', 'pg_leakhunt_stop'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_stop(int) IS
'Takes no more samples of a process. False, after a WARNING, if it has not loaded pg_leakhunt. A null pid is an ERROR.';

CREATE FUNCTION pg_leakhunt_trim(pid int)
RETURNS bigint
AS 'MODULE_PATHNAME', 'pg_leakhunt_trim'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_trim(int) IS
'Has a process give freed memory back to the kernel; returns how much it did, in bytes. Null, after a NOTICE or WARNING, if it did not. A null pid is an ERROR.';

CREATE FUNCTION _pg_leakhunt_reset_caches()
RETURNS void
AS 'MODULE_PATHNAME', 'pg_leakhunt_reset_caches'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION _pg_leakhunt_reset_caches() IS
'Empties this session''s caches of the catalogs; for pg_leakhunt_regress.';

CREATE FUNCTION pg_leakhunt_start_all(
    sample_interval bigint DEFAULT NULL,
    scope text DEFAULT NULL,
    duration interval DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'pg_leakhunt_start_all'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_start_all(bigint, text, interval) IS
'Samples all processes, also those that start later, once in sample_interval bytes, on average; null means as their settings say.';

CREATE FUNCTION pg_leakhunt_start_all(
    sample_interval text,
    scope text DEFAULT NULL,
    duration interval DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'pg_leakhunt_start_all'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_start_all(text, text, interval) IS
'The same, with a unit, such as ''32kB''.';

CREATE FUNCTION pg_leakhunt_stop_all()
RETURNS void
AS 'MODULE_PATHNAME', 'pg_leakhunt_stop_all'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_stop_all() IS
'Takes no more samples of any process.';

CREATE FUNCTION pg_leakhunt_reset_all()
RETURNS void
AS 'MODULE_PATHNAME', 'pg_leakhunt_reset_all'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_reset_all() IS
'Takes back every start and stop: each process samples as its settings say.';

CREATE FUNCTION pg_leakhunt_baseline(pid int)
RETURNS int
AS 'MODULE_PATHNAME', 'pg_leakhunt_baseline'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_baseline(int) IS
'Counts growth of a process from now on. Returns 1; or 0, after a WARNING, for a wrong pid. A null pid is an ERROR.';

CREATE FUNCTION pg_leakhunt_baseline_all()
RETURNS int
AS 'MODULE_PATHNAME', 'pg_leakhunt_baseline_all'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_baseline_all() IS
'Counts growth of all processes that the caller may see from now on, and returns their number.';

--
-- Dumps
--

CREATE FUNCTION pg_leakhunt_dump(pid int, symbolized bool DEFAULT false)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_leakhunt_dump'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_dump(int, bool) IS
'Writes what a process holds to a dump file, and returns its name. Null, after a WARNING, for a wrong pid.';

CREATE FUNCTION _pg_leakhunt_dumps(
    -- columns/dumps.def
    OUT file text,
    OUT pid int,
    OUT backend_type text,
    OUT username text,
    OUT database text,
    OUT application_name text,
    OUT reason text,
    OUT created_at timestamptz,
    OUT size_bytes bigint,
    OUT live_bytes bigint,
    OUT live_count bigint,
    OUT peak_bytes bigint,
    OUT died_at timestamptz,
    OUT death text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_dumps'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION _pg_leakhunt_dumps() IS
'Returns the rows of the view pg_leakhunt_dumps. A file that is no dump is a WARNING.';

CREATE VIEW pg_leakhunt_dumps AS
    SELECT * FROM _pg_leakhunt_dumps()
    ORDER BY created_at DESC;

COMMENT ON VIEW pg_leakhunt_dumps IS
'dump files, the newest first';
-- columns/dumps.def
COMMENT ON COLUMN pg_leakhunt_dumps.file IS
'name in pg_leakhunt.dump_directory, as the functions take it';
COMMENT ON COLUMN pg_leakhunt_dumps.pid IS
'process that the dump was made of';
COMMENT ON COLUMN pg_leakhunt_dumps.backend_type IS
'as in pg_stat_activity, and "postmaster"';
COMMENT ON COLUMN pg_leakhunt_dumps.username IS
'role that the process was authenticated as; null if none, or if this server no longer has it';
COMMENT ON COLUMN pg_leakhunt_dumps.database IS
'database that the process was connected to; null if none, or if this server no longer has it';
COMMENT ON COLUMN pg_leakhunt_dumps.application_name IS
'application of the process, at its last count; null if it had set none';
COMMENT ON COLUMN pg_leakhunt_dumps.reason IS
'"exit"; "crash": the process did not exit cleanly; "manual": pg_leakhunt_dump; "growth": pg_leakhunt.dump_growth; "limit": a memory limit was reached';
COMMENT ON COLUMN pg_leakhunt_dumps.created_at IS
'when the dump was written';
COMMENT ON COLUMN pg_leakhunt_dumps.size_bytes IS
'size of the file; in bytes';
COMMENT ON COLUMN pg_leakhunt_dumps.live_bytes IS
'held by the process; estimate; in bytes';
COMMENT ON COLUMN pg_leakhunt_dumps.live_count IS
'number of these chunks; estimate';
COMMENT ON COLUMN pg_leakhunt_dumps.peak_bytes IS
'highest live_bytes of the process until the dump; estimate; in bytes';
COMMENT ON COLUMN pg_leakhunt_dumps.died_at IS
'as in pg_leakhunt_processes; null if the process lived, or where that is null';
COMMENT ON COLUMN pg_leakhunt_dumps.death IS
'as in pg_leakhunt_processes; null where died_at is';

CREATE FUNCTION _pg_leakhunt_dump_file(file text)
RETURNS bytea
AS 'MODULE_PATHNAME', 'pg_leakhunt_dump_file'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION _pg_leakhunt_dump_file(text) IS
'Returns the bytes of a dump file as they are. What is no whole dump, or larger than 1 GB, is an ERROR.';

CREATE FUNCTION pg_leakhunt_heap(
    pid int,
    symbolized bool DEFAULT false,
    redact bool DEFAULT false)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_leakhunt_heap'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_heap(int, bool, bool) IS
'What a process holds, as a text for jeprof and go tool pprof. A wrong pid is a WARNING, and the result null.';

CREATE FUNCTION pg_leakhunt_heap(
    target text,
    symbolized bool DEFAULT false,
    redact bool DEFAULT false)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_leakhunt_heap'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_heap(text, bool, bool) IS
'What a dump has, as a text for jeprof and go tool pprof. A damaged file is an ERROR.';

CREATE FUNCTION pg_leakhunt_diff(
    older text,
    newer text,
    -- columns/diff.def
    OUT context_name text,
    OUT lifetime text,
    OUT query_id bigint,
    OUT query text,
    OUT older_bytes bigint,
    OUT newer_bytes bigint,
    OUT growth_bytes bigint,
    OUT older_count bigint,
    OUT newer_count bigint,
    OUT growth_count bigint,
    OUT site text,
    OUT routine text,
    OUT stack text[])
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_diff'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_diff(text, text) IS
'What each call site held in two dumps, and the difference; estimates, in bytes. A damaged file is an ERROR.';

--
-- Tables, pictures and profiles for other tools: of a target, as it is, or its growth
-- since the baseline or since a dump.
--

CREATE FUNCTION pg_leakhunt_top(
    pid int,
    sums_by text DEFAULT 'function',
    growth bool DEFAULT false,
    base text DEFAULT NULL,
    peak bool DEFAULT false,
    -- columns/top.def
    OUT name text,
    OUT flat_bytes bigint,
    OUT flat_percent float8,
    OUT flat_count bigint,
    OUT cum_bytes bigint,
    OUT cum_percent float8,
    OUT cum_count bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_top'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_top(int, text, bool, text, bool) IS
'What a process holds per function, line, module, context or routine; estimates, in bytes. A wrong pid is a WARNING.';

CREATE FUNCTION pg_leakhunt_top(
    target text,
    sums_by text DEFAULT 'function',
    growth bool DEFAULT false,
    base text DEFAULT NULL,
    peak bool DEFAULT false,
    -- columns/top.def
    OUT name text,
    OUT flat_bytes bigint,
    OUT flat_percent float8,
    OUT flat_count bigint,
    OUT cum_bytes bigint,
    OUT cum_percent float8,
    OUT cum_count bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_top'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_top(text, text, bool, text, bool) IS
'The same of a dump, or of ''all'' processes together. A damaged file is an ERROR.';

CREATE FUNCTION pg_leakhunt_folded(
    pid int,
    growth bool DEFAULT false,
    base text DEFAULT NULL,
    peak bool DEFAULT false,
    context bool DEFAULT false,
    query bool DEFAULT false,
    frames text DEFAULT 'all',
    redact bool DEFAULT false)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_leakhunt_folded'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_folded(int, bool, text, bool, bool, bool, text, bool) IS
'What a process holds as folded stacks, for flame graph scripts and speedscope; estimates, in bytes. A wrong pid is a WARNING, and the result null.';

CREATE FUNCTION pg_leakhunt_folded(
    target text,
    growth bool DEFAULT false,
    base text DEFAULT NULL,
    peak bool DEFAULT false,
    context bool DEFAULT false,
    query bool DEFAULT false,
    frames text DEFAULT 'all',
    redact bool DEFAULT false)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_leakhunt_folded'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_folded(text, bool, text, bool, bool, bool, text, bool) IS
'The same of a dump, or of ''all'' processes together. A damaged file is an ERROR.';

CREATE FUNCTION pg_leakhunt_flamegraph(
    pid int,
    growth bool DEFAULT false,
    base text DEFAULT NULL,
    peak bool DEFAULT false,
    context bool DEFAULT false,
    query bool DEFAULT false,
    frames text DEFAULT 'all',
    redact bool DEFAULT false)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_leakhunt_flamegraph'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_flamegraph(int, bool, text, bool, bool, bool, text, bool) IS
'What a process holds as a flame graph, an SVG that needs nothing else. A wrong pid is a WARNING, and the result null.';

CREATE FUNCTION pg_leakhunt_flamegraph(
    target text,
    growth bool DEFAULT false,
    base text DEFAULT NULL,
    peak bool DEFAULT false,
    context bool DEFAULT false,
    query bool DEFAULT false,
    frames text DEFAULT 'all',
    redact bool DEFAULT false)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_leakhunt_flamegraph'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_flamegraph(text, bool, text, bool, bool, bool, text, bool) IS
'The same of a dump, or of ''all'' processes together. A damaged file is an ERROR.';

CREATE FUNCTION pg_leakhunt_pprof(
    pid int,
    growth bool DEFAULT false,
    base text DEFAULT NULL,
    peak bool DEFAULT false,
    types text[] DEFAULT NULL,
    labels text[] DEFAULT '{memory_context,backend_type}',
    symbolize bool DEFAULT true,
    helpers bool DEFAULT true,
    max_samples int DEFAULT NULL,
    max_bytes int DEFAULT NULL,
    redact bool DEFAULT false)
RETURNS bytea
AS 'MODULE_PATHNAME', 'pg_leakhunt_pprof'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_pprof(int, bool, text, bool, text[], text[], bool, bool, int, int, bool) IS
'What a process has allocated and holds, as a profile for go tool pprof; estimates, in bytes. Null, with a WARNING, for a wrong pid; an unknown type or label is an ERROR.';

CREATE FUNCTION pg_leakhunt_pprof(
    target text,
    growth bool DEFAULT false,
    base text DEFAULT NULL,
    peak bool DEFAULT false,
    types text[] DEFAULT NULL,
    labels text[] DEFAULT '{memory_context,backend_type}',
    symbolize bool DEFAULT true,
    helpers bool DEFAULT true,
    max_samples int DEFAULT NULL,
    max_bytes int DEFAULT NULL,
    redact bool DEFAULT false)
RETURNS bytea
AS 'MODULE_PATHNAME', 'pg_leakhunt_pprof'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_pprof(text, bool, text, bool, text[], text[], bool, bool, int, int, bool) IS
'The same of a dump, or of ''all'' processes together. A damaged file is an ERROR.';

--
-- Pages
--

CREATE FUNCTION pg_leakhunt_page(
    pid int,
    redact bool DEFAULT false)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_leakhunt_page'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_page(int, bool) IS
'A page of HTML on a process, in one file. A wrong pid is a WARNING, and the result null.';

CREATE FUNCTION pg_leakhunt_page(
    target text DEFAULT 'all',
    redact bool DEFAULT false)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_leakhunt_page'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_page(text, bool) IS
'A page of HTML on a dump, or on the server. A damaged file is an ERROR.';

--
-- Privileges: rows are filtered by role, so that everybody may look; to sample
-- more is to make a process slower, and a dump takes room on the disk.  A check
-- runs any statement within a SELECT: an injection could hide one in there that
-- is refused as a second statement.
--

REVOKE ALL ON FUNCTION pg_leakhunt_start(int, bigint, text, interval),
    pg_leakhunt_start(int, text, text, interval),
    pg_leakhunt_start_all(text, text, interval),
    pg_leakhunt_stop(int), pg_leakhunt_start_all(bigint, text, interval),
    pg_leakhunt_stop_all(), pg_leakhunt_reset_all(),
    pg_leakhunt_trim(int), _pg_leakhunt_reset_caches(), pg_leakhunt_dump(int, bool),
    pg_leakhunt_check(text, int, int, text), pg_leakhunt_explain_analyze(text, text),
    pg_leakhunt_statements_reset(oid, oid, bigint), pg_leakhunt_capacity_reset() FROM PUBLIC;

GRANT SELECT ON pg_leakhunt, pg_leakhunt_processes, pg_leakhunt_sampling, pg_leakhunt_metrics, pg_leakhunt_report,
    pg_leakhunt_contexts, pg_leakhunt_suspects,
    pg_leakhunt_suppressions, pg_leakhunt_suppressed, pg_leakhunt_dumps,
    pg_leakhunt_symbols, pg_leakhunt_statements TO PUBLIC;
