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
'call sites that pg_leakhunt_suspects and pg_leakhunt_check leave out; pg_leakhunt_suppressed shows what they match';
COMMENT ON COLUMN pg_leakhunt_suppressions.pattern IS
'is looked for in function, source file and binary of each frame, or with "context:" before it in the name of the memory context; * stands for any characters, ^ and $ for start and end of a name';
COMMENT ON COLUMN pg_leakhunt_suppressions.reason IS
'why these are no leaks, or none to care about';

SELECT pg_extension_config_dump('pg_leakhunt_suppressions', '');

--
-- What the views are made of
--

CREATE FUNCTION pg_leakhunt_get_processes(
    OUT pid int,
    OUT backend_type text,
    OUT state text,
    OUT database text,
    OUT username text,
    OUT started_at timestamptz,
    OUT sampling bool,
    OUT sample_interval bigint,
    OUT scope text,
    OUT live_bytes bigint,
    OUT live_count bigint,
    OUT peak_bytes bigint,
    OUT growth_bytes bigint,
    OUT samples_live bigint,
    OUT samples_taken bigint,
    OUT samples_dropped bigint,
    OUT sites bigint,
    OUT context_bytes bigint,
    OUT malloc_bytes bigint,
    OUT rss_anon_bytes bigint,
    OUT overhead_bytes bigint,
    OUT profile_bytes bigint,
    OUT last_sample_at timestamptz,
    OUT counted_at timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_get_processes'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_get_processes() IS
'the rows of pg_leakhunt_processes, from the header of each profile';

CREATE FUNCTION pg_leakhunt_get_sites(
    for_pid int,
    with_stacks bool DEFAULT true,
    suppressions text[] DEFAULT NULL,
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
    OUT stack text[],
    OUT stack_id bigint,
    OUT epochs bigint,
    OUT age_epochs bigint,
    OUT early_epochs bigint,
    OUT early_bytes bigint,
    OUT early_samples bigint,
    OUT early_at timestamptz,
    OUT suppressed_by text[])
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_get_sites'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_get_sites(int, bool, text[]) IS
'the rows of pg_leakhunt_report for one process, or for all if for_pid is null; without stacks much faster, then site, stack and stack_id are null; a WARNING where for_pid is no process of this server; epochs: transactions, or seconds of longer ones, in which the site had samples; age_epochs: how many the process has gone through since its first, that one included; early_*: what was live early_epochs after the first, at early_at, which is in the first half of age_epochs; suppressed_by: which of the patterns in suppressions match the site; null if none';

CREATE FUNCTION pg_leakhunt_get_contexts(
    OUT pid int,
    OUT backend_type text,
    OUT context_name text,
    OUT lifetime text,
    OUT instances bigint,
    OUT context_bytes bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_get_contexts'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_get_contexts() IS
'memory contexts of each process by name and lifetime: how many there are and the bytes that they have from malloc, as the process itself counted them last: see pg_leakhunt_processes.counted_at';

CREATE FUNCTION pg_leakhunt_history(
    pid int,
    OUT at timestamptz,
    OUT live_bytes bigint,
    OUT context_bytes bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_history'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_history(int) IS
'what a process held over time: live_bytes as in pg_leakhunt_processes, estimate; context_bytes of all memory contexts, exact; at most 240 points, at least one second apart, at first, and further as time goes on; none while no samples are kept';

CREATE FUNCTION pg_leakhunt_get_coverage(
    OUT pid int,
    OUT backend_type text,
    OUT loaded bool)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_get_coverage'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_get_coverage() IS
'processes of this server, as the kernel knows them, and whether they have loaded pg_leakhunt; backend_type is told for the postmaster only';

CREATE FUNCTION pg_leakhunt_get_symbols(
    OUT path text,
    OUT build_id text,
    OUT found text,
    OUT file text,
    OUT hint text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_get_symbols'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_get_symbols() IS
'the rows of pg_leakhunt_symbols, once for each process that has the module in its profile';

--
-- What acts on processes
--

CREATE FUNCTION pg_leakhunt_start(
    pid int DEFAULT NULL,
    sample_interval bigint DEFAULT NULL,
    scope text DEFAULT NULL)
RETURNS bool
AS 'MODULE_PATHNAME', 'pg_leakhunt_start'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_start(int, bigint, text) IS
'samples a process, or all with a null pid, from its next megabyte of allocations on, every sample_interval bytes on average and in the contexts of scope; null: as its settings say; holds until the next start or stop; false and a WARNING where pid is no process of this server or has not loaded pg_leakhunt';

CREATE FUNCTION pg_leakhunt_stop(pid int DEFAULT NULL)
RETURNS bool
AS 'MODULE_PATHNAME', 'pg_leakhunt_stop'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_stop(int) IS
'takes no more samples of a process, or of any with a null pid, from its next megabyte of allocations on; those that it has are still dropped when their chunks are freed; otherwise like pg_leakhunt_start';

CREATE FUNCTION pg_leakhunt_baseline(pid int DEFAULT NULL)
RETURNS int
AS 'MODULE_PATHNAME', 'pg_leakhunt_baseline'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_baseline(int) IS
'counts growth_bytes and growth_count of a process, or of all with a null pid, from here; returns the number of processes';

--
-- A test for leaks
--

CREATE FUNCTION pg_leakhunt_get_leaks(
    query text,
    iterations int,
    warmup int,
    suppressions text[],
    OUT bytes_per_iteration float8,
    OUT objects_per_iteration float8,
    OUT context_name text,
    OUT site text,
    OUT stack text[])
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_get_leaks'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION pg_leakhunt_get_leaks(text, int, int, text[]) IS
'the rows of pg_leakhunt_check, without those that match a pattern in suppressions';

CREATE FUNCTION pg_leakhunt_check(
    query text,
    iterations int DEFAULT 100,
    warmup int DEFAULT 10,
    OUT bytes_per_iteration float8,
    OUT objects_per_iteration float8,
    OUT context_name text,
    OUT site text,
    OUT stack text[])
RETURNS SETOF record
LANGUAGE SQL CALLED ON NULL INPUT VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT * FROM pg_leakhunt_get_leaks(query, iterations, warmup,
        ARRAY(SELECT pattern FROM pg_leakhunt_suppressions));
END;

COMMENT ON FUNCTION pg_leakhunt_check(text, int, int) IS
'runs the statement warmup + iterations times in this session and transaction, and returns the call sites at which memory of session-long contexts stays behind each time, in bytes and chunks per iteration, exact; or, as [memory contexts], contexts that stay behind without one; no row: no leak; what the statement does stays done; if there is something to confirm, it runs as many times more in a subtransaction that is rolled back; errors of the statement end it';

--
-- Dump files
--

CREATE FUNCTION pg_leakhunt_dump(pid int, symbolized bool DEFAULT false)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_leakhunt_dump'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_dump(int, bool) IS
'writes what a process holds to a dump file in pg_leakhunt.dump_directory, without its help, and returns the name of the file; symbolized: with the names of all functions, so that no binary is needed to read it; null and a WARNING if the process has no profile';

CREATE FUNCTION pg_leakhunt_get_dumps(
    OUT file text,
    OUT pid int,
    OUT backend_type text,
    OUT reason text,
    OUT created_at timestamptz,
    OUT size_bytes bigint,
    OUT live_bytes bigint,
    OUT live_count bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_get_dumps'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_get_dumps() IS
'the rows of pg_leakhunt_dumps, from the first lines of each file; for members of pg_read_all_stats a WARNING for what is no dump';

CREATE FUNCTION pg_leakhunt_get_dump_sites(
    file text,
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
    OUT stack text[],
    OUT stack_id bigint,
    OUT epochs bigint,
    OUT age_epochs bigint,
    OUT early_epochs bigint,
    OUT early_bytes bigint,
    OUT early_samples bigint,
    OUT early_at timestamptz,
    OUT suppressed_by text[])
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_get_dump_sites'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_get_dump_sites(text) IS
'the rows of pg_leakhunt_get_sites from a dump file; nothing is known of epochs';

CREATE FUNCTION pg_leakhunt_read_dump(
    file text,
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
    OUT stack text[],
    OUT stack_id bigint)
RETURNS SETOF record
LANGUAGE SQL STRICT VOLATILE PARALLEL RESTRICTED
BEGIN ATOMIC
    SELECT pid, backend_type, context_name, lifetime, query_id, query,
           live_bytes, live_count, error_bytes, growth_bytes, growth_count,
           peak_bytes, total_bytes, total_count, survival, samples, first_at,
           last_at, site, stack, stack_id
    FROM pg_leakhunt_get_dump_sites(file)
    ORDER BY live_bytes DESC;
END;

COMMENT ON FUNCTION pg_leakhunt_read_dump(text) IS
'the rows that pg_leakhunt_report had when the dump file was written, without growth in those that a process wrote itself, at exit or when it had grown; file: its name in pg_leakhunt.dump_directory, or, for members of pg_read_server_files, a path; an ERROR that names the line if it is damaged';

CREATE FUNCTION pg_leakhunt_get_difference(
    older text,
    newer text,
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
    OUT stack text[])
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_get_difference'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_get_difference(text, text) IS
'the rows of pg_leakhunt_diff in no order';

CREATE FUNCTION pg_leakhunt_diff(
    older text,
    newer text,
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
    OUT stack text[])
RETURNS SETOF record
LANGUAGE SQL STRICT VOLATILE PARALLEL RESTRICTED
BEGIN ATOMIC
    SELECT * FROM pg_leakhunt_get_difference(older, newer)
    ORDER BY growth_bytes DESC, newer_bytes DESC;
END;

COMMENT ON FUNCTION pg_leakhunt_diff(text, text) IS
'what each call site holds in two dump files, and the difference, the largest growth first; the dumps may be of different processes, before and after a restart; sites are compared by stack, context and statement';

--
-- Tables, pictures and profiles for other tools; of a process, if growth is set
-- since its baseline, or of a dump file, with base since that other one
--

CREATE FUNCTION pg_leakhunt_get_top(
    pid int,
    file text,
    base text,
    growth bool,
    sums_by text,
    OUT name text,
    OUT flat_bytes bigint,
    OUT flat_percent float8,
    OUT flat_count bigint,
    OUT cum_bytes bigint,
    OUT cum_percent float8,
    OUT cum_count bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_leakhunt_get_top'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_get_top(int, text, text, bool, text) IS
'the rows of pg_leakhunt_top, of a process or, where pid is null, of a dump file';

CREATE FUNCTION pg_leakhunt_top(
    pid int,
    sums_by text DEFAULT 'function',
    growth bool DEFAULT false,
    OUT name text,
    OUT flat_bytes bigint,
    OUT flat_percent float8,
    OUT flat_count bigint,
    OUT cum_bytes bigint,
    OUT cum_percent float8,
    OUT cum_count bigint)
RETURNS SETOF record
LANGUAGE SQL CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED
BEGIN ATOMIC
    SELECT * FROM pg_leakhunt_get_top(pid, NULL::text, NULL::text, growth, sums_by);
END;

COMMENT ON FUNCTION pg_leakhunt_top(int, text, bool) IS
'what a process holds, per function, function and line, module or context, as sums_by says: bytes and chunks that it has allocated itself (flat) and that it or what it calls have (cum), the most cumulative bytes first; a function that is in a stack several times counts once; percents are of all bytes, with two decimals, null where these are not more than 0; with growth: what it has gained since its baseline';

CREATE FUNCTION pg_leakhunt_top(
    file text,
    sums_by text DEFAULT 'function',
    base text DEFAULT NULL,
    OUT name text,
    OUT flat_bytes bigint,
    OUT flat_percent float8,
    OUT flat_count bigint,
    OUT cum_bytes bigint,
    OUT cum_percent float8,
    OUT cum_count bigint)
RETURNS SETOF record
LANGUAGE SQL CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED
BEGIN ATOMIC
    SELECT * FROM pg_leakhunt_get_top(NULL::int, file, base, NULL::bool, sums_by);
END;

COMMENT ON FUNCTION pg_leakhunt_top(text, text, text) IS
'what a dump file holds, per function, function and line, module or context, as sums_by says: bytes and chunks that it has allocated itself (flat) and that it or what it calls have (cum), the most cumulative bytes first; a function that is in a stack several times counts once; percents are of all bytes, with two decimals, null where these are not more than 0; with base: what it has gained since that dump file';

CREATE FUNCTION pg_leakhunt_get_folded(
    pid int,
    file text,
    base text,
    growth bool,
    context bool,
    query bool)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_leakhunt_get_folded'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_get_folded(int, text, text, bool, bool, bool) IS
'pg_leakhunt_folded, of a process or, where pid is null, of a dump file';

CREATE FUNCTION pg_leakhunt_folded(
    pid int,
    growth bool DEFAULT false,
    context bool DEFAULT false,
    query bool DEFAULT false)
RETURNS text
LANGUAGE SQL CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED
BEGIN ATOMIC
    SELECT pg_leakhunt_get_folded(pid, NULL::text, NULL::text, growth, context, query);
END;

COMMENT ON FUNCTION pg_leakhunt_folded(int, bool, bool, bool) IS
'live bytes of a process as folded stacks, one per line, the outermost function first, for flame graph scripts and speedscope; with growth: two figures, bytes before and now, since its baseline; context, query: memory contexts, statements are the first levels; null and a WARNING if the process has no profile';

CREATE FUNCTION pg_leakhunt_folded(
    file text,
    base text DEFAULT NULL,
    context bool DEFAULT false,
    query bool DEFAULT false)
RETURNS text
LANGUAGE SQL CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED
BEGIN ATOMIC
    SELECT pg_leakhunt_get_folded(NULL::int, file, base, NULL::bool, context, query);
END;

COMMENT ON FUNCTION pg_leakhunt_folded(text, text, bool, bool) IS
'live bytes of a dump file as folded stacks, one per line, the outermost function first, for flame graph scripts and speedscope; with base: two figures, bytes before and now, since that dump file; context, query: memory contexts, statements are the first levels';

CREATE FUNCTION pg_leakhunt_get_flamegraph(
    pid int,
    file text,
    base text,
    growth bool,
    context bool,
    query bool)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_leakhunt_get_flamegraph'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_get_flamegraph(int, text, text, bool, bool, bool) IS
'pg_leakhunt_flamegraph, of a process or, where pid is null, of a dump file';

CREATE FUNCTION pg_leakhunt_flamegraph(
    pid int,
    growth bool DEFAULT false,
    context bool DEFAULT false,
    query bool DEFAULT false)
RETURNS text
LANGUAGE SQL CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED
BEGIN ATOMIC
    SELECT pg_leakhunt_get_flamegraph(pid, NULL::text, NULL::text, growth, context, query);
END;

COMMENT ON FUNCTION pg_leakhunt_flamegraph(int, bool, bool, bool) IS
'live bytes of a process as a flame graph: an interactive SVG that needs nothing else; with growth: what has grown (red) and shrunk (blue) since its baseline; context, query: memory contexts, statements are the first levels; null and a WARNING if the process has no profile';

CREATE FUNCTION pg_leakhunt_flamegraph(
    file text,
    base text DEFAULT NULL,
    context bool DEFAULT false,
    query bool DEFAULT false)
RETURNS text
LANGUAGE SQL CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED
BEGIN ATOMIC
    SELECT pg_leakhunt_get_flamegraph(NULL::int, file, base, NULL::bool, context, query);
END;

COMMENT ON FUNCTION pg_leakhunt_flamegraph(text, text, bool, bool) IS
'live bytes of a dump file as a flame graph: an interactive SVG that needs nothing else; with base: what has grown (red) and shrunk (blue) since that dump file; context, query: memory contexts, statements are the first levels';

CREATE FUNCTION pg_leakhunt_get_pprof(
    pid int,
    file text,
    base text,
    growth bool)
RETURNS bytea
AS 'MODULE_PATHNAME', 'pg_leakhunt_get_pprof'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_leakhunt_get_pprof(int, text, text, bool) IS
'pg_leakhunt_pprof, of a process or, where pid is null, of a dump file';

CREATE FUNCTION pg_leakhunt_pprof(
    pid int,
    growth bool DEFAULT false)
RETURNS bytea
LANGUAGE SQL CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED
BEGIN ATOMIC
    SELECT pg_leakhunt_get_pprof(pid, NULL::text, NULL::text, growth);
END;

COMMENT ON FUNCTION pg_leakhunt_pprof(int, bool) IS
'what a process has allocated and holds as a profile for go tool pprof: alloc_objects, alloc_space, inuse_objects, inuse_space, with labels; with growth: what it has gained since its baseline; null and a WARNING if the process has no profile';

CREATE FUNCTION pg_leakhunt_pprof(
    file text,
    base text DEFAULT NULL)
RETURNS bytea
LANGUAGE SQL CALLED ON NULL INPUT VOLATILE PARALLEL RESTRICTED
BEGIN ATOMIC
    SELECT pg_leakhunt_get_pprof(NULL::int, file, base, NULL::bool);
END;

COMMENT ON FUNCTION pg_leakhunt_pprof(text, text) IS
'what a dump file has as a profile for go tool pprof: alloc_objects, alloc_space, inuse_objects, inuse_space, with labels; with base: what it has gained since that dump file';

--
-- Views
--

CREATE VIEW pg_leakhunt_processes AS
    SELECT * FROM pg_leakhunt_get_processes();

COMMENT ON VIEW pg_leakhunt_processes IS
'one row per process that has a profile: that has kept five samples or 8 MB or, found at the end of a transaction, has 16 MB of its own in memory; live_*, peak_bytes are estimates from samples';
COMMENT ON COLUMN pg_leakhunt_processes.pid IS
'process id, as pg_backend_pid() tells it';
COMMENT ON COLUMN pg_leakhunt_processes.backend_type IS
'as in pg_stat_activity, and postmaster';
COMMENT ON COLUMN pg_leakhunt_processes.state IS
'live, or crashed: the process is gone and has not exited cleanly';
COMMENT ON COLUMN pg_leakhunt_processes.database IS
'database that the process is connected to; null if none';
COMMENT ON COLUMN pg_leakhunt_processes.username IS
'role that the process was authenticated as; null if none';
COMMENT ON COLUMN pg_leakhunt_processes.started_at IS
'when the process started';
COMMENT ON COLUMN pg_leakhunt_processes.sampling IS
'whether the process takes samples now';
COMMENT ON COLUMN pg_leakhunt_processes.sample_interval IS
'mean number of allocated bytes between two samples; 0 while not sampling';
COMMENT ON COLUMN pg_leakhunt_processes.scope IS
'long_lived: samples of contexts of lifetime session only are kept; all: of all contexts';
COMMENT ON COLUMN pg_leakhunt_processes.live_bytes IS
'bytes allocated while sampling, in scope, and not freed yet, as requested by the callers; estimate';
COMMENT ON COLUMN pg_leakhunt_processes.live_count IS
'number of such chunks; estimate';
COMMENT ON COLUMN pg_leakhunt_processes.peak_bytes IS
'highest live_bytes so far; estimate';
COMMENT ON COLUMN pg_leakhunt_processes.growth_bytes IS
'live_bytes since the baseline; null without one';
COMMENT ON COLUMN pg_leakhunt_processes.samples_live IS
'number of samples that live_bytes is estimated from';
COMMENT ON COLUMN pg_leakhunt_processes.samples_taken IS
'number of all samples, those out of scope included';
COMMENT ON COLUMN pg_leakhunt_processes.samples_dropped IS
'number of samples that are not counted as live, or not at their call site, because max_live_samples, max_profile_size, memory or disk was used up, or which were taken in a critical section';
COMMENT ON COLUMN pg_leakhunt_processes.sites IS
'number of call sites seen';
COMMENT ON COLUMN pg_leakhunt_processes.context_bytes IS
'bytes that all memory contexts have from malloc, when the process last counted them, at counted_at; exact; null if it has not yet';
COMMENT ON COLUMN pg_leakhunt_processes.malloc_bytes IS
'bytes that malloc has in use, then; what exceeds context_bytes is used outside of memory contexts; null if malloc is not glibc''s';
COMMENT ON COLUMN pg_leakhunt_processes.rss_anon_bytes IS
'resident anonymous memory of the process now, in bytes, as RssAnon of /proc; null if the process is gone';
COMMENT ON COLUMN pg_leakhunt_processes.overhead_bytes IS
'bytes that pg_leakhunt itself takes in the process, the profile included';
COMMENT ON COLUMN pg_leakhunt_processes.profile_bytes IS
'size of the profile in bytes';
COMMENT ON COLUMN pg_leakhunt_processes.last_sample_at IS
'when the last sample was kept';
COMMENT ON COLUMN pg_leakhunt_processes.counted_at IS
'when the process last counted its contexts: with a sample, at most once a second, and at the end of a transaction that commits, where 50 ms have passed since; context_bytes and malloc_bytes are as of then, rss_anon_bytes is of now; null if it has not yet';

CREATE VIEW pg_leakhunt_report AS
    SELECT pid, backend_type, context_name, lifetime, query_id, query,
           live_bytes, live_count, error_bytes, growth_bytes, growth_count,
           peak_bytes, total_bytes, total_count, survival, samples, first_at,
           last_at, site, stack, stack_id
    FROM pg_leakhunt_get_sites(NULL::int, true, NULL::text[])
    ORDER BY live_bytes DESC;

COMMENT ON VIEW pg_leakhunt_report IS
'one row per process and call site, the one with the most live bytes first; a site is a stack in a memory context while a statement was running; all figures are estimates from samples, exact at sample_interval 1';
COMMENT ON COLUMN pg_leakhunt_report.pid IS
'process id';
COMMENT ON COLUMN pg_leakhunt_report.backend_type IS
'as in pg_stat_activity, and postmaster';
COMMENT ON COLUMN pg_leakhunt_report.context_name IS
'name of the memory context; null for the row of samples whose site found no room';
COMMENT ON COLUMN pg_leakhunt_report.lifetime IS
'how long such a context lives: session, transaction, statement, query or error';
COMMENT ON COLUMN pg_leakhunt_report.query_id IS
'as in pg_stat_activity; null where the server had computed none';
COMMENT ON COLUMN pg_leakhunt_report.query IS
'text of the top-level statement, its first 1024 bytes; with a query_id, of the first such statement; null where none was running, or where statements have used up their quarter of the profile';
COMMENT ON COLUMN pg_leakhunt_report.live_bytes IS
'bytes allocated at this site and not freed yet, as requested by the caller; estimate';
COMMENT ON COLUMN pg_leakhunt_report.live_count IS
'number of such chunks; estimate';
COMMENT ON COLUMN pg_leakhunt_report.error_bytes IS
'95% error bound of live_bytes, in either direction; 0 means exact';
COMMENT ON COLUMN pg_leakhunt_report.growth_bytes IS
'live_bytes since the baseline; null without one';
COMMENT ON COLUMN pg_leakhunt_report.growth_count IS
'live_count since the baseline; null without one';
COMMENT ON COLUMN pg_leakhunt_report.peak_bytes IS
'live_bytes of this site when those of the process were highest; null if not known';
COMMENT ON COLUMN pg_leakhunt_report.total_bytes IS
'bytes ever allocated at this site, freed ones included; estimate';
COMMENT ON COLUMN pg_leakhunt_report.total_count IS
'number of such chunks; estimate';
COMMENT ON COLUMN pg_leakhunt_report.survival IS
'live_bytes / total_bytes: 1 where nothing is ever freed';
COMMENT ON COLUMN pg_leakhunt_report.samples IS
'number of samples that live_bytes is estimated from';
COMMENT ON COLUMN pg_leakhunt_report.first_at IS
'when the first sample was taken';
COMMENT ON COLUMN pg_leakhunt_report.last_at IS
'when the last sample was taken';
COMMENT ON COLUMN pg_leakhunt_report.site IS
'the function that allocates: the first of the stack that is no allocation helper; module+offset where no symbol is known; [process start] for the first samples of a starting process, which have no stack, [profile full] for those whose site found no room';
COMMENT ON COLUMN pg_leakhunt_report.stack IS
'the stack, innermost function first; cut at max_stack_depth, then the last element says so; null where site is in brackets';
COMMENT ON COLUMN pg_leakhunt_report.stack_id IS
'identifies the stack, in all processes that run the same binaries';

CREATE VIEW pg_leakhunt_contexts AS
    SELECT pid,
           coalesce(contexts.backend_type, sites.backend_type) AS backend_type,
           context_name,
           lifetime,
           contexts.instances,
           contexts.context_bytes,
           coalesce(sites.live_bytes, 0) AS live_bytes,
           coalesce(sites.live_count, 0) AS live_count,
           sites.growth_bytes,
           coalesce(sites.sites, 0) AS sites
    FROM pg_leakhunt_get_contexts() AS contexts
        FULL JOIN (SELECT pid,
                          min(backend_type) AS backend_type,
                          context_name,
                          lifetime,
                          sum(live_bytes)::bigint AS live_bytes,
                          sum(live_count)::bigint AS live_count,
                          sum(growth_bytes)::bigint AS growth_bytes,
                          count(*) AS sites
                   FROM pg_leakhunt_get_sites(NULL::int, false, NULL::text[])
                   GROUP BY pid, context_name, lifetime) AS sites
        USING (pid, context_name, lifetime)
    ORDER BY live_bytes DESC, context_bytes DESC NULLS LAST;

COMMENT ON VIEW pg_leakhunt_contexts IS
'one row per process, memory context name and lifetime, the one with the most live bytes first';
COMMENT ON COLUMN pg_leakhunt_contexts.pid IS
'process id';
COMMENT ON COLUMN pg_leakhunt_contexts.backend_type IS
'as in pg_stat_activity, and postmaster';
COMMENT ON COLUMN pg_leakhunt_contexts.context_name IS
'name of the memory contexts; null for samples whose site found no room';
COMMENT ON COLUMN pg_leakhunt_contexts.lifetime IS
'how long such contexts live: session, transaction, statement, query or error';
COMMENT ON COLUMN pg_leakhunt_contexts.instances IS
'number of contexts of that name, when the process last counted them; null if there were none';
COMMENT ON COLUMN pg_leakhunt_contexts.context_bytes IS
'bytes that these contexts have from malloc, likewise; exact';
COMMENT ON COLUMN pg_leakhunt_contexts.live_bytes IS
'bytes allocated in them and not freed yet; estimate';
COMMENT ON COLUMN pg_leakhunt_contexts.live_count IS
'number of such chunks; estimate';
COMMENT ON COLUMN pg_leakhunt_contexts.growth_bytes IS
'live_bytes since the baseline; null without one';
COMMENT ON COLUMN pg_leakhunt_contexts.sites IS
'number of call sites that allocated in them';

CREATE VIEW pg_leakhunt_queries AS
    SELECT pid,
           min(backend_type) AS backend_type,
           query_id,
           min(query) AS query,
           sum(live_bytes)::bigint AS live_bytes,
           sum(live_count)::bigint AS live_count,
           sum(growth_bytes)::bigint AS growth_bytes,
           count(*) AS sites
    FROM pg_leakhunt_get_sites(NULL::int, false, NULL::text[])
    GROUP BY pid, query_id, CASE WHEN query_id IS NULL THEN query END
    ORDER BY 5 DESC;

COMMENT ON VIEW pg_leakhunt_queries IS
'one row per process and statement, the one with the most live bytes first';
COMMENT ON COLUMN pg_leakhunt_queries.pid IS
'process id';
COMMENT ON COLUMN pg_leakhunt_queries.backend_type IS
'as in pg_stat_activity, and postmaster';
COMMENT ON COLUMN pg_leakhunt_queries.query_id IS
'as in pg_stat_activity; null where the server had computed none, then the text tells statements apart';
COMMENT ON COLUMN pg_leakhunt_queries.query IS
'text of the statement, its first 1024 bytes; null where none was running';
COMMENT ON COLUMN pg_leakhunt_queries.live_bytes IS
'bytes allocated while it ran and not freed yet; estimate';
COMMENT ON COLUMN pg_leakhunt_queries.live_count IS
'number of such chunks; estimate';
COMMENT ON COLUMN pg_leakhunt_queries.growth_bytes IS
'live_bytes since the baseline; null without one';
COMMENT ON COLUMN pg_leakhunt_queries.sites IS
'number of call sites that allocated while it ran';

-- A site that goes on holding more is told from a cache that has filled up by
-- comparing what it held at some time in the first half of its life (early_*)
-- with what was added since: at the same rate or nearly so, and by enough
-- samples.  What comes and goes makes both figures vary by chance: the more it
-- does, the more samples it takes.
--
-- What each of many statements allocates once may be a leak that all run into
-- or a cache that each adds to; figures can't tell, so that they are judged
-- together only by the growth since a baseline.
CREATE VIEW pg_leakhunt_suspects AS
    WITH sites AS (
        SELECT *,
               1::bigint AS statements,
               live_bytes - early_bytes AS late_bytes,
               samples - early_samples AS late_samples,
               age_epochs - early_epochs AS late_epochs,
               greatest(0, (live_bytes - early_bytes)::float8 / nullif(age_epochs - early_epochs, 0))
                   / nullif(early_bytes::float8 / nullif(early_epochs, 0), 0) AS steadiness
        FROM pg_leakhunt_get_sites(NULL::int, true,
            ARRAY(SELECT pattern FROM pg_leakhunt_suppressions))
        WHERE lifetime = 'session' AND stack IS NOT NULL
            AND suppressed_by IS NULL),
    verdicts AS (
        SELECT *,
               epochs >= 8 AND samples >= 16 AND early_samples >= 4
                   AND late_samples >= greatest(8, 3 * sqrt((1 - survival) * (early_samples + samples)))
                   AND steadiness >= 0.4 AS leaks
        FROM sites),
    stacks AS (
        SELECT *,
               bool_or(leaks) OVER stack AS stack_leaks,
               count(*) OVER stack AS stack_statements
        FROM verdicts
        WINDOW stack AS (PARTITION BY pid, context_name, stack_id)),
    suspects AS (
        SELECT leaks, pid, backend_type, context_name, site, stack, query_id,
               query, statements, live_bytes, error_bytes, growth_bytes,
               total_bytes, survival, samples, epochs, age_epochs,
               late_bytes, late_epochs, steadiness, early_at, early_bytes
        FROM stacks
        WHERE leaks OR (stack_statements = 1 AND epochs < 8)
        UNION ALL
        SELECT false, pid, min(backend_type), context_name, min(site),
               min(stack), (array_agg(query_id ORDER BY live_bytes DESC))[1],
               (array_agg(query ORDER BY live_bytes DESC))[1], count(*),
               sum(live_bytes)::bigint,
               sqrt(sum(error_bytes::float8 ^ 2))::bigint,
               sum(growth_bytes)::bigint, sum(total_bytes)::bigint,
               sum(live_bytes)::float8 / nullif(sum(total_bytes), 0)::float8,
               sum(samples)::bigint, least(sum(epochs), max(age_epochs))::bigint,
               max(age_epochs), NULL::bigint, NULL::bigint, NULL::float8,
               NULL::timestamptz, NULL::bigint
        FROM stacks
        WHERE stack_leaks IS NOT TRUE AND stack_statements > 1
        GROUP BY pid, context_name, stack_id),
    ends AS (
        SELECT pid, max(CASE state WHEN 'live' THEN clock_timestamp() ELSE last_sample_at END) AS counted_to
        FROM pg_leakhunt_get_processes()
        GROUP BY pid)
    SELECT pid,
           backend_type,
           round((least(steadiness, 1) * (1 - exp(-samples / 20.0)))::numeric, 2)::float8 AS score,
           CASE WHEN leaks THEN 'leak' ELSE 'growing' END AS verdict,
           context_name,
           site,
           query_id,
           query,
           live_bytes,
           growth_bytes,
           (greatest(0, live_bytes - early_bytes) * 3600.0
               / greatest(1, extract(epoch FROM counted_to - early_at)))::bigint AS bytes_per_hour,
           survival,
           epochs,
           CASE WHEN leaks THEN
               pg_catalog.format('In %s of %s transactions (or seconds of long ones) it kept %s (+/- %s) of %s that it allocated, %s of it in the last %s, at %s%% of the rate before.',
                      epochs, age_epochs, pg_size_pretty(live_bytes),
                      pg_size_pretty(error_bytes), pg_size_pretty(total_bytes),
                      pg_size_pretty(late_bytes), late_epochs,
                      round(100 * steadiness))
           ELSE
               pg_catalog.format('It holds %s (+/- %s), %s more than at the baseline, from %s samples; %s to tell a leak from a cache.',
                      pg_size_pretty(live_bytes), pg_size_pretty(error_bytes),
                      pg_size_pretty(growth_bytes), samples,
                      CASE WHEN statements = 1
                           THEN 'too little has happened since its first allocation'
                           ELSE pg_catalog.format('each of %s statements has too few', statements)
                      END)
           END AS evidence,
           stack
    FROM suspects LEFT JOIN ends USING (pid)
    WHERE leaks OR (samples >= 16 AND growth_bytes > 2 * error_bytes)
    ORDER BY leaks DESC NULLS LAST, score DESC, live_bytes DESC;

COMMENT ON VIEW pg_leakhunt_suspects IS
'one row per process and call site that goes on holding more, the likeliest leak first; no row without the samples to say so: at least 16 live ones; for a leak 4 in the first half of its life and 8 later, and at least 0.4 of the early rate later; for growing, growth since the baseline of more than twice the error, of all statements together if there are several';
COMMENT ON COLUMN pg_leakhunt_suspects.pid IS
'process id';
COMMENT ON COLUMN pg_leakhunt_suspects.backend_type IS
'as in pg_stat_activity, and postmaster';
COMMENT ON COLUMN pg_leakhunt_suspects.score IS
'0 to 1: how steadily it grows, and how many samples say so';
COMMENT ON COLUMN pg_leakhunt_suspects.verdict IS
'leak: it has gone on through many transactions, or seconds of longer ones; growing: it has grown since the baseline, in too few of them to tell a leak from a cache, or a little in each of several statements';
COMMENT ON COLUMN pg_leakhunt_suspects.context_name IS
'name of the memory context';
COMMENT ON COLUMN pg_leakhunt_suspects.site IS
'first function of the stack that is not a helper such as pstrdup';
COMMENT ON COLUMN pg_leakhunt_suspects.query_id IS
'of the statement for which most is held, as in pg_stat_activity; null where the server had computed none';
COMMENT ON COLUMN pg_leakhunt_suspects.query IS
'text of the top-level statement for which most is held, as in pg_leakhunt_report';
COMMENT ON COLUMN pg_leakhunt_suspects.live_bytes IS
'bytes allocated at this site and not freed yet; estimate';
COMMENT ON COLUMN pg_leakhunt_suspects.growth_bytes IS
'live_bytes since the baseline; null without one';
COMMENT ON COLUMN pg_leakhunt_suspects.bytes_per_hour IS
'growth per hour since some time in the first half of the site''s life, up to now, or to the last sample of a process that is gone; estimate; null where too little has happened';
COMMENT ON COLUMN pg_leakhunt_suspects.survival IS
'live_bytes per byte ever allocated at this site: 1 = nothing was freed';
COMMENT ON COLUMN pg_leakhunt_suspects.epochs IS
'transactions, or seconds of longer ones, in which the site had samples';
COMMENT ON COLUMN pg_leakhunt_suspects.evidence IS
'why it is here, as a sentence';
COMMENT ON COLUMN pg_leakhunt_suspects.stack IS
'all frames, the allocating function first';

CREATE VIEW pg_leakhunt_suppressed AS
    SELECT suppressions.pattern,
           min(suppressions.reason) AS reason,
           count(sites.pid) AS sites,
           count(DISTINCT sites.pid) AS processes,
           coalesce(sum(sites.live_bytes), 0)::bigint AS live_bytes,
           coalesce(sum(sites.live_count), 0)::bigint AS live_count
    FROM pg_leakhunt_suppressions AS suppressions
        LEFT JOIN pg_leakhunt_get_sites(NULL::int, true,
            ARRAY(SELECT pattern FROM pg_leakhunt_suppressions)) AS sites
        ON suppressions.pattern = ANY (sites.suppressed_by)
    GROUP BY suppressions.pattern
    ORDER BY 5 DESC, 1;

COMMENT ON VIEW pg_leakhunt_suppressed IS
'one row per row of pg_leakhunt_suppressions: what it matches now';
COMMENT ON COLUMN pg_leakhunt_suppressed.pattern IS
'as in pg_leakhunt_suppressions';
COMMENT ON COLUMN pg_leakhunt_suppressed.reason IS
'as in pg_leakhunt_suppressions';
COMMENT ON COLUMN pg_leakhunt_suppressed.sites IS
'number of call sites in all processes; each counts for all patterns that match it';
COMMENT ON COLUMN pg_leakhunt_suppressed.processes IS
'number of processes that have such call sites';
COMMENT ON COLUMN pg_leakhunt_suppressed.live_bytes IS
'bytes allocated there and not freed yet; estimate';
COMMENT ON COLUMN pg_leakhunt_suppressed.live_count IS
'number of such chunks; estimate';

CREATE VIEW pg_leakhunt_coverage AS
    SELECT pid,
           coalesce(activity.backend_type, coverage.backend_type) AS backend_type,
           activity.datname AS database,
           activity.usename AS username,
           coverage.loaded
    FROM pg_leakhunt_get_coverage() AS coverage
        LEFT JOIN pg_stat_activity AS activity USING (pid)
    ORDER BY coverage.loaded, pid;

COMMENT ON VIEW pg_leakhunt_coverage IS
'one row per process of the server: can pg_leakhunt see it?';
COMMENT ON COLUMN pg_leakhunt_coverage.pid IS
'process id';
COMMENT ON COLUMN pg_leakhunt_coverage.backend_type IS
'as in pg_stat_activity, and postmaster; null for processes that are not known there, as the logger';
COMMENT ON COLUMN pg_leakhunt_coverage.database IS
'database that the process is connected to; null if none';
COMMENT ON COLUMN pg_leakhunt_coverage.username IS
'role that the process was authenticated as; null if none';
COMMENT ON COLUMN pg_leakhunt_coverage.loaded IS
'whether the process has loaded pg_leakhunt: if not, it is in none of the other views; null where that can''t be known';

CREATE VIEW pg_leakhunt_dumps AS
    SELECT * FROM pg_leakhunt_get_dumps()
    ORDER BY created_at DESC;

COMMENT ON VIEW pg_leakhunt_dumps IS
'one row per dump file, the newest first';
COMMENT ON COLUMN pg_leakhunt_dumps.file IS
'name in pg_leakhunt.dump_directory, as other functions take it';
COMMENT ON COLUMN pg_leakhunt_dumps.pid IS
'process that it is of';
COMMENT ON COLUMN pg_leakhunt_dumps.backend_type IS
'as in pg_stat_activity, and postmaster';
COMMENT ON COLUMN pg_leakhunt_dumps.reason IS
'exit; crash: the process did not exit cleanly; manual: pg_leakhunt_dump; growth: pg_leakhunt.dump_growth';
COMMENT ON COLUMN pg_leakhunt_dumps.created_at IS
'when it was written';
COMMENT ON COLUMN pg_leakhunt_dumps.size_bytes IS
'size of the file in bytes';
COMMENT ON COLUMN pg_leakhunt_dumps.live_bytes IS
'bytes that the process held; estimate';
COMMENT ON COLUMN pg_leakhunt_dumps.live_count IS
'number of such chunks; estimate';

CREATE VIEW pg_leakhunt_symbols AS
    SELECT DISTINCT path, build_id, found, file, hint
    FROM pg_leakhunt_get_symbols()
    ORDER BY path, build_id;

COMMENT ON VIEW pg_leakhunt_symbols IS
'one row per binary that appears in a stack: what there is to name its functions';
COMMENT ON COLUMN pg_leakhunt_symbols.path IS
'file that the binary was loaded from';
COMMENT ON COLUMN pg_leakhunt_symbols.build_id IS
'what the linker called this very version of it; null if it has no build-id';
COMMENT ON COLUMN pg_leakhunt_symbols.found IS
'debug information: functions, inlined ones too, with file and line; symbol table: all functions; dynamic symbols: exported functions only; nothing: module and offset';
COMMENT ON COLUMN pg_leakhunt_symbols.file IS
'file that has it: the binary itself, or a debug file; null if nothing was found';
COMMENT ON COLUMN pg_leakhunt_symbols.hint IS
'what to do to see more; null if there is nothing to do';

--
-- Privileges: rows are filtered by role, so that everybody may look; to sample
-- more is to make a process slower, and a dump takes room on the disk
--

REVOKE ALL ON FUNCTION pg_leakhunt_start(int, bigint, text),
    pg_leakhunt_stop(int), pg_leakhunt_dump(int, bool) FROM PUBLIC;

GRANT SELECT ON pg_leakhunt_processes, pg_leakhunt_report,
    pg_leakhunt_contexts, pg_leakhunt_queries, pg_leakhunt_suspects,
    pg_leakhunt_suppressions, pg_leakhunt_suppressed, pg_leakhunt_coverage,
    pg_leakhunt_dumps, pg_leakhunt_symbols TO PUBLIC;
