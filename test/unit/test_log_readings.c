/*
 * test_log_readings.c
 *	  What a text says of memory: lines of statistics in the form of each release, in each form of
 *	  a log, pasted in every way, and whatever is no such line.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "reader_tests.h"
#include "statistics/log_explanation.h"

/* A reading is large, and there is one at a time. */
static PlhLogReading reading;

static void
read_pieces(const char *text, Size bytes, Size piece)
{
	plh_log_reading_begin(&reading, false);
	for (Size at = 0; at < bytes; at += piece)
		plh_log_reading_add(&reading, text + at, Min(piece, bytes - at));
	plh_log_reading_end(&reading);
}

static void
read_text(const char *text)
{
	read_pieces(text, strlen(text), strlen(text));
}

static const PlhStatisticsName *
find_name(const PlhStatistics *statistics, const char *name)
{
	for (int i = 0; i < statistics->name_count; i++)
		if (strcmp(statistics->names[i].name, name) == 0)
			return &statistics->names[i];
	return NULL;
}

/* Has the first of the statistics contexts of a name with those bytes, which last or not? */
static bool
has_name(const char *name, int64 contexts, int64 bytes, bool lasts)
{
	const PlhStatisticsName *found = find_name(&reading.statistics[0], name);

	return found != NULL && found->contexts == contexts && found->bytes == bytes &&
		plh_lifetime_is_lasting(found->lifetime) == lasts;
}

/* A line, and what it says. */
typedef struct Line
{
	const char *text;
	PlhContextLineKind kind;
	const char *name;
	int64		total;
	int64		free;
	const char *ident;
} Line;

static const Line lines[] = {
	/* all until 10, and AllocSet since */
	{"TopMemoryContext: 68688 total in 10 blocks; 2184 free (7 chunks); 66504 used",
	PLH_CONTEXT_LINE_ONE, "TopMemoryContext", 68688, 2184, ""},
	{"index info: 2048 total in 2 blocks; 904 free (0 chunks); 1144 used: pg_class_oid_index",
	PLH_CONTEXT_LINE_ONE, "index info", 2048, 904, "pg_class_oid_index"},
	/* Generation, from 11 on */
	{"Tuples: 8192 total in 1 blocks (12 chunks); 7000 free (11 chunks); 1192 used",
	PLH_CONTEXT_LINE_ONE, "Tuples", 8192, 7000, ""},
	/* Slab from 16 on */
	{"TXN: 8192 total in 2 blocks; 1 empty blocks; 3112 free (13 chunks); 5080 used",
	PLH_CONTEXT_LINE_ONE, "TXN", 8192, 3112, ""},
	/* Bump, from 17 on */
	{"Caller tuples: 8192 total in 1 blocks; 7672 free; 520 used",
	PLH_CONTEXT_LINE_ONE, "Caller tuples", 8192, 7672, ""},
	/* a note that is empty, or has the words of a line, or a colon */
	{"PortalContext: 1024 total in 1 blocks; 592 free (0 chunks); 432 used: ",
	PLH_CONTEXT_LINE_ONE, "PortalContext", 1024, 592, ""},
	{"CachedPlan: 1024 total in 1 blocks; 8 free (0 chunks); 1016 used: SELECT ': 9 total in 7 blocks'",
	PLH_CONTEXT_LINE_ONE, "CachedPlan", 1024, 8, "SELECT ': 9 total in 7 blocks'"},
	{"a: b: 1024 total in 1 blocks; 8 free (0 chunks); 1016 used",
	PLH_CONTEXT_LINE_ONE, "a: b", 1024, 8, ""},
	/* cut */
	{"a: 1024 total in 1 blocks; 8 fr", PLH_CONTEXT_LINE_ONE, "a", 1024, 0, ""},
	{"a: 1024 total in 1", PLH_CONTEXT_LINE_ONE, "a", 1024, 0, ""},
	{"level: 12; a: 8 total in 1 blocks; 8 free (0 chunks); 0 used",
	PLH_CONTEXT_LINE_ONE, "a", 8, 8, ""},
	{"12 more child contexts containing 99 total in 3 blocks; 9 free (2 chunks); 90 used",
	PLH_CONTEXT_LINE_MORE, "", 99, 9, ""},
	{"level: 2; 12 more child contexts containing 99 total in 3 blocks; 9 free (2 chunks); 90 used",
	PLH_CONTEXT_LINE_MORE, "", 99, 9, ""},
	{"Grand total: 1000 bytes in 3 blocks; 9 free (2 chunks); 991 used",
	PLH_CONTEXT_LINE_TOTAL, "", 1000, 9, ""},
	/* sizes beyond what a number can be */
	{"a: 99999999999999999999 total in 1 blocks; 1 free (0 chunks); 8 used",
	PLH_CONTEXT_LINE_ONE, "a", PG_INT64_MAX, 1, ""},
	/* none */
	{"", PLH_CONTEXT_LINE_NONE, "", 0, 0, ""},
	{" total in ", PLH_CONTEXT_LINE_NONE, "", 0, 0, ""},
	{"5 total in 1 blocks", PLH_CONTEXT_LINE_NONE, "", 5, 0, ""},
	{"the parts: 5 total in all", PLH_CONTEXT_LINE_NONE, "", 5, 0, ""},
	{"Grand total: none", PLH_CONTEXT_LINE_NONE, "", 0, 0, ""}
};

static bool
is_text(PlhTextSpan span, const char *text)
{
	return plh_text_span_is(span, text);
}

static void
test_lines(void)
{
	for (int i = 0; i < lengthof(lines); i++)
	{
		const Line *line = &lines[i];
		PlhContextLine read = plh_context_line_read(plh_text_span_of(line->text));

		ok(read.kind == line->kind &&
		   (read.kind == PLH_CONTEXT_LINE_NONE ||
			(is_text(read.name, line->name) && read.total_bytes == line->total &&
			 read.free_bytes == line->free && is_text(read.ident, line->ident))),
		   psprintf("it is read as what it is: %.60s", line->text));
	}
}

/* What each of these texts has: two contexts below two others, and their total. */
static const char *const texts[] = {
	/* as a server writes it */
	"TopMemoryContext: 8192 total in 1 blocks; 100 free (1 chunks); 8092 used\n"
	"  CacheMemoryContext: 16384 total in 2 blocks; 100 free (1 chunks); 16284 used\n"
	"    CachedPlan: 1024 total in 1 blocks; 8 free (0 chunks); 1016 used: SELECT 1\n"
	"  TopPortalContext: 8192 total in 1 blocks; 100 free (1 chunks); 8092 used\n"
	"    PortalContext: 1024 total in 1 blocks; 8 free (0 chunks); 1016 used\n"
	"Grand total: 34816 bytes in 6 blocks; 316 free (3 chunks); 34500 used\n",
	/* until 10, with other names */
	"TopMemoryContext: 8192 total in 1 blocks; 100 free (1 chunks); 8092 used\r\n"
	"  CacheMemoryContext: 16384 total in 2 blocks; 100 free (1 chunks); 16284 used\r\n"
	"    CachedPlan: 1024 total in 1 blocks; 8 free (0 chunks); 1016 used\r\n"
	"  PortalMemory: 8192 total in 1 blocks; 100 free (1 chunks); 8092 used\r\n"
	"    PortalHeapMemory: 1024 total in 1 blocks; 8 free (0 chunks); 1016 used\r\n"
	"Grand total: 34816 bytes in 6 blocks; 316 free (3 chunks); 34500 used\r\n",
	/* in a mail, and within a fence */
	"> ```\n"
	"> TopMemoryContext: 8192 total in 1 blocks; 100 free (1 chunks); 8092 used\n"
	">   CacheMemoryContext: 16384 total in 2 blocks; 100 free (1 chunks); 16284 used\n"
	">     CachedPlan: 1024 total in 1 blocks; 8 free (0 chunks); 1016 used: SELECT 1\n"
	">   TopPortalContext: 8192 total in 1 blocks; 100 free (1 chunks); 8092 used\n"
	">     PortalContext: 1024 total in 1 blocks; 8 free (0 chunks); 1016 used\n"
	"> Grand total: 34816 bytes in 6 blocks; 316 free (3 chunks); 34500 used\n"
	"> ```\n",
	/* in a container's log, with the time of each line */
	"2026-11-29T08:00:00.123456789Z stderr F TopMemoryContext: 8192 total in 1 blocks; 100 free (1 chunks); 8092 used\n"
	"2026-11-29T08:00:00.12345679Z stderr F   CacheMemoryContext: 16384 total in 2 blocks; 100 free (1 chunks); 16284 used\n"
	"2026-11-29T08:00:00.12345680Z stderr F     CachedPlan: 1024 total in 1 blocks; 8 free (0 chunks); 1016 used: SELECT 1\n"
	"2026-11-29T08:00:00.12345681Z stderr F   TopPortalContext: 8192 total in 1 blocks; 100 free (1 chunks); 8092 used\n"
	"2026-11-29T08:00:01Z stdout F nothing\n"
	"2026-11-29T08:00:01.123Z stderr F     PortalContext: 1024 total in 1 blocks; 8 free (0 chunks); 1016 used\n"
	"2026-11-29T08:00:01.124Z stderr F Grand total: 34816 bytes in 6 blocks; 316 free (3 chunks); 34500 used\n",
	/* docker-compose, and JSON of docker's */
	"db_1  | TopMemoryContext: 8192 total in 1 blocks; 100 free (1 chunks); 8092 used\n"
	"db_1  |   CacheMemoryContext: 16384 total in 2 blocks; 100 free (1 chunks); 16284 used\n"
	"db_1  |     CachedPlan: 1024 total in 1 blocks; 8 free (0 chunks); 1016 used: SELECT 1\n"
	"web_1 | GET /\n"
	"db_1  |   TopPortalContext: 8192 total in 1 blocks; 100 free (1 chunks); 8092 used\n"
	"db_1  |     PortalContext: 1024 total in 1 blocks; 8 free (0 chunks); 1016 used\n"
	"db_1  | Grand total: 34816 bytes in 6 blocks; 316 free (3 chunks); 34500 used\n",
	"{\"log\":\"TopMemoryContext: 8192 total in 1 blocks; 100 free (1 chunks); 8092 used\\n\",\"stream\":\"stderr\"}\n"
	"{\"log\":\"  CacheMemoryContext: 16384 total in 2 blocks; 100 free (1 chunks); 16284 used\\n\",\"stream\":\"stderr\"}\n"
	"{\"log\":\"    CachedPlan: 1024 total in 1 blocks; 8 free (0 chunks); 1016 used: SELECT 1\\n\",\"stream\":\"stderr\"}\n"
	"{\"log\":\"  TopPortalContext: 8192 total in 1 blocks; 100 free (1 chunks); 8092 used\\n\",\"stream\":\"stderr\"}\n"
	"{\"log\":\"    PortalContext: 1024 total in 1 blocks; 8 free (0 chunks); 1016 used\\n\",\"stream\":\"stderr\"}\n"
	"{\"log\":\"Grand total: 34816 bytes in 6 blocks; 316 free (3 chunks); 34500 used\\n\",\"stream\":\"stderr\"}\n",

	/*
	 * messages of the log, from 14 on, with a prefix; another process' are
	 * between them
	 */
	"2026-11-29 08:00:00 UTC [4711] LOG:  logging memory contexts of PID 4711\n"
	"2026-11-29 08:00:00 UTC [4711] LOG:  level: 0; TopMemoryContext: 8192 total in 1 blocks; 100 free (1 chunks); 8092 used\n"
	"2026-11-29 08:00:00 UTC [4711] LOG:  level: 1; CacheMemoryContext: 16384 total in 2 blocks; 100 free (1 chunks); 16284 used\n"
	"2026-11-29 08:00:00 UTC [4712] LOG:  level: 1; Other: 16384 total in 2 blocks; 100 free (1 chunks); 16284 used\n"
	"2026-11-29 08:00:00 UTC [4711] LOG:  level: 2; CachedPlan: 1024 total in 1 blocks; 8 free (0 chunks); 1016 used: SELECT 1\n"
	"2026-11-29 08:00:00 UTC [4711] LOG:  level: 1; TopPortalContext: 8192 total in 1 blocks; 100 free (1 chunks); 8092 used\n"
	"2026-11-29 08:00:00 UTC [4711] LOG:  level: 2; PortalContext: 1024 total in 1 blocks; 8 free (0 chunks); 1016 used\n"
	"2026-11-29 08:00:00 UTC [4711] LOG:  Grand total: 34816 bytes in 6 blocks; 316 free (3 chunks); 34500 used\n",
	/* the same as csvlog */
	"2026-11-29 08:00:00 UTC,\"u, \"\"x\"\"\",\"db\",4711,\"[local]\",6.7,1,\"SELECT\",2026-11-29 08:00:00 UTC,3/5,0,LOG,00000,\"level: 1; TopMemoryContext: 8192 total in 1 blocks; 100 free (1 chunks); 8092 used\",,,,,,,,,\"app\"\n"
	"2026-11-29 08:00:00 UTC,\"u\",\"db\",4711,\"[local]\",6.7,1,\"SELECT\",2026-11-29 08:00:00 UTC,3/5,0,LOG,00000,\"level: 2; CacheMemoryContext: 16384 total in 2 blocks; 100 free (1 chunks); 16284 used\",,,,,,,,,\"app\"\n"
	"2026-11-29 08:00:00 UTC,\"u\",\"db\",4711,\"[local]\",6.7,1,\"SELECT\",2026-11-29 08:00:00 UTC,3/5,0,LOG,00000,\"level: 3; CachedPlan: 1024 total in 1 blocks; 8 free (0 chunks); 1016 used: SELECT 1\",,,,,,,,,\"app\"\n"
	"2026-11-29 08:00:00 UTC,\"u\",\"db\",4711,\"[local]\",6.7,1,\"SELECT\",2026-11-29 08:00:00 UTC,3/5,0,LOG,00000,\"level: 2; TopPortalContext: 8192 total in 1 blocks; 100 free (1 chunks); 8092 used\",,,,,,,,,\"app\"\n"
	"2026-11-29 08:00:00 UTC,\"u\",\"db\",4711,\"[local]\",6.7,1,\"SELECT\",2026-11-29 08:00:00 UTC,3/5,0,LOG,00000,\"level: 3; PortalContext: 1024 total in 1 blocks; 8 free (0 chunks); 1016 used\",,,,,,,,,\"app\"\n"
	"2026-11-29 08:00:00 UTC,\"u\",\"db\",4711,\"[local]\",6.7,1,\"SELECT\",2026-11-29 08:00:00 UTC,3/5,0,LOG,00000,\"Grand total: 34816 bytes in 6 blocks; 316 free (3 chunks); 34500 used\",,,,,,,,,\"app\"\n",
	/* as jsonlog, also within what an operator makes of it */
	"{\"timestamp\":\"2026\",\"pid\":4711,\"error_severity\":\"LOG\",\"message\":\"level: 0; TopMemoryContext: 8192 total in 1 blocks; 100 free (1 chunks); 8092 used\"}\n"
	"{\"level\":\"info\",\"msg\":\"record\",\"record\":{\"process_id\":\"4711\",\"error_severity\":\"LOG\",\"message\":\"level: 1; CacheMemoryContext: 16384 total in 2 blocks; 100 free (1 chunks); 16284 used\"}}\n"
	"{\"pid\":4711,\"error_severity\":\"LOG\",\"message\":\"level: 2; CachedPlan: 1024 total in 1 blocks; 8 free (0 chunks); 1016 used: SELECT 1\"}\n"
	"{\"pid\":4711,\"error_severity\":\"LOG\",\"message\":\"level: 1; TopPortalContext: 8192 total in 1 blocks; 100 free (1 chunks); 8092 used\"}\n"
	"{\"pid\":4711,\"error_severity\":\"LOG\",\"message\":\"level: 2; PortalContext: 1024 total in 1 blocks; 8 free (0 chunks); 1016 used\"}\n"
	"{\"pid\":4711,\"error_severity\":\"LOG\",\"message\":\"Grand total: 34816 bytes in 6 blocks; 316 free (3 chunks); 34500 used\"}\n",
	/* blanks at the begin of lines were lost */
	"TopMemoryContext: 8192 total in 1 blocks; 100 free (1 chunks); 8092 used\n"
	"CacheMemoryContext: 16384 total in 2 blocks; 100 free (1 chunks); 16284 used\n"
	"CachedPlan: 1024 total in 1 blocks; 8 free (0 chunks); 1016 used: SELECT 1\n"
	"TopPortalContext: 8192 total in 1 blocks; 100 free (1 chunks); 8092 used\n"
	"PortalContext: 1024 total in 1 blocks; 8 free (0 chunks); 1016 used\n"
	"Grand total: 34816 bytes in 6 blocks; 316 free (3 chunks); 34500 used\n"
};

/* Is what was read what all of these texts have? */
static bool
is_right(void)
{
	const PlhStatistics *statistics = &reading.statistics[0];

	return statistics->contexts == 5 && statistics->bytes == 34816 &&
		statistics->free_bytes == 316 && !statistics->is_open && statistics->has_top &&
		statistics->grand_bytes == 34816 &&
		has_name("CacheMemoryContext", 1, 16384, true) && has_name("CachedPlan", 1, 1024, true) &&
		has_name("TopPortalContext", 1, 8192, false) && has_name("PortalContext", 1, 1024, false);
}

static void
test_texts(void)
{
	for (int i = 0; i < lengthof(texts); i++)
	{
		bool		in_pieces = true;

		read_text(texts[i]);
		ok(is_right(), psprintf("statistics are read in form %d", i));
		for (Size piece = 1; piece < 100; piece = piece * 3 + 1)
		{
			read_pieces(texts[i], strlen(texts[i]), piece);
			in_pieces &= is_right();
		}
		ok(in_pieces, "also if they come in pieces");
	}
}

/* The context that the rows below have. */
static bool
has_rows(void)
{
	const PlhStatistics *statistics = &reading.statistics[0];

	return reading.kept == 1 && statistics->is_by_rows && statistics->contexts == 3 &&
		statistics->bytes == 10000 && has_name("TopMemoryContext", 1, 5000, true) &&
		has_name("CachedPlan", 1, 2000, true) && has_name("PortalContext", 1, 3000, false) &&
		find_name(statistics, "CachedPlan")->example_count == 1;
}

static const char *const rows[] = {
	"       name       |     ident     |      parent        | level | total_bytes | total_nblocks | free_bytes | free_chunks | used_bytes \n"
	"------------------+---------------+--------------------+-------+-------------+---------------+------------+-------------+------------\n"
	" TopMemoryContext |               |                    |     0 |        5000 |             5 |       1000 |           9 |       4000\n"
	" CachedPlan       | SELECT a || b+| CacheMemoryContext |     2 |        2000 |             5 |       1000 |           9 |       1000\n"
	"                  | FROM c        |                    |       |             |               |            |             |           \n"
	" PortalContext    | <unnamed>     | TopPortalContext   |     2 |        3000 |             5 |       1000 |           9 |       2000\n"
	"(3 rows)\n",
	"name|ident|parent|level|total_bytes|total_nblocks|free_bytes|free_chunks|used_bytes\n"
	"TopMemoryContext|||0|5000|5|1000|9|4000\n"
	"CachedPlan|SELECT a || b|CacheMemoryContext|2|2000|5|1000|9|1000\n"
	"PortalContext|<unnamed>|TopPortalContext|2|3000|5|1000|9|2000\n"
	"(3 rows)\n",
	"name,ident,parent,level,total_bytes,total_nblocks,free_bytes,free_chunks,used_bytes\n"
	"TopMemoryContext,,,0,5000,5,1000,9,4000\n"
	"CachedPlan,\"SELECT \"\"a\"\", b,\n"
	"1, 2\n"
	"FROM c, d\",CacheMemoryContext,2,2000,5,1000,9,1000\n"
	"PortalContext,<unnamed>,TopPortalContext,2,3000,5,1000,9,2000\n",
	"name\tident\tparent\tlevel\ttotal_bytes\ttotal_nblocks\tfree_bytes\tfree_chunks\tused_bytes\n"
	"TopMemoryContext\t\t\t0\t5000\t5\t1000\t9\t4000\n"
	"CachedPlan\tSELECT 1\tCacheMemoryContext\t2\t2000\t5\t1000\t9\t1000\n"
	"PortalContext\t<unnamed>\tTopPortalContext\t2\t3000\t5\t1000\t9\t2000\n",
	"-[ RECORD 1 ]-+-----\n"
	"name          | TopMemoryContext\n"
	"ident         | \n"
	"parent        | \n"
	"level         | 0\n"
	"total_bytes   | 5000\n"
	"free_bytes    | 1000\n"
	"-[ RECORD 2 ]-+-----\n"
	"name          | CachedPlan\n"
	"ident         | SELECT a || b\n"
	"parent        | CacheMemoryContext\n"
	"level         | 2\n"
	"total_bytes   | 2000\n"
	"-[ RECORD 3 ]-+-----\n"
	"name          | PortalContext\n"
	"parent        | TopPortalContext\n"
	"level         | 2\n"
	"total_bytes   | 3000\n",
	/* 18, with lines of Unicode and a border */
	"\342\224\202       name       \342\224\202  ident   \342\224\202   type   \342\224\202 level \342\224\202   path   \342\224\202 total_bytes \342\224\202\n"
	"\342\224\202 TopMemoryContext \342\224\202          \342\224\202 AllocSet \342\224\202     1 \342\224\202 {1}      \342\224\202        5000 \342\224\202\n"
	"\342\224\202 CachedPlan       \342\224\202 SELECT 1 \342\224\202 AllocSet \342\224\202     3 \342\224\202 {1,7,9}  \342\224\202        2000 \342\224\202\n"
	"\342\224\202 PortalContext    \342\224\202          \342\224\202 AllocSet \342\224\202     3 \342\224\202 {1,8,10} \342\224\202        3000 \342\224\202\n"
	"(3 rows)\n"
};

static void
test_rows(void)
{
	for (int i = 0; i < lengthof(rows); i++)
	{
		read_text(rows[i]);
		ok(has_rows(), psprintf("rows of a view are read in form %d", i));
	}
}

/* A server lists 100 children of a context, and adds up the others. */
static void
test_unlisted(void)
{
	StringInfoData text;
	const PlhStatisticsRest *rest = &reading.statistics[0].rests[0];

	initStringInfo(&text);
	appendStringInfoString(&text, "TopMemoryContext: 8192 total in 1 blocks; 0 free (1 chunks); 8192 used\n"
						   "  CacheMemoryContext: 8192 total in 1 blocks; 0 free (1 chunks); 8192 used\n");
	for (int i = 0; i < 90; i++)
		appendStringInfo(&text, "    CachedPlanSource: 2048 total in 1 blocks; 0 free (1 chunks); 2048 used: SELECT %d\n"
						 "      CachedPlanQuery: 4096 total in 1 blocks; 0 free (1 chunks); 4096 used\n", i);
	for (int i = 0; i < 10; i++)
		appendStringInfo(&text, "    index info: 2048 total in 1 blocks; 0 free (1 chunks); 2048 used: i%d\n", i);
	appendStringInfoString(&text, "    900 more child contexts containing 5000000 total in 9 blocks; 9 free (1 chunks); 4999991 used\n"
						   "Grand total: 5589824 bytes in 3 blocks; 9 free (2 chunks); 991 used\n");
	read_text(text.data);
	ok(reading.statistics[0].bytes == 5589824 - 0 && reading.statistics[0].rest_count == 1,
	   "contexts that are not listed count");
	ok(rest->listed == 100 && rest->alike == 90 &&
	   strcmp(reading.statistics[0].names[rest->like].name, "CachedPlanSource") == 0,
	   "and are taken for what most of their neighbours are");
	ok(find_name(&reading.statistics[0], "CachedPlanSource")->example_count == PLH_STATISTICS_EXAMPLES,
	   "of which examples are kept");
	pfree(text.data);
}

/* A text of many statistics: of each process the first and the last stay, of the largest processes. */
static void
test_many(void)
{
	StringInfoData text;
	bool		has_first = false;
	bool		has_last = false;

	initStringInfo(&text);
	for (int i = 0; i < 100; i++)
		appendStringInfo(&text, "LOG:  logging memory contexts of PID %d\n"
						 "LOG:  level: 0; TopMemoryContext: %d total in 1 blocks; 0 free (0 chunks); 0 used\n"
						 "LOG:  Grand total: %d bytes in 1 blocks; 0 free (0 chunks); 0 used\n",
						 i % 3 == 0 ? 7 : 100 + i, 1000 + i, 1000 + i);
	read_text(text.data);
	for (int i = 0; i < reading.kept; i++)
	{
		has_first |= reading.statistics[i].number == 1;
		has_last |= reading.statistics[i].number == 100;
	}
	ok(reading.found == 100 && reading.kept == PLH_READING_STATISTICS,
	   "of many statistics some are kept");
	ok(has_first && has_last, "the first and the last of a process among them");
	pfree(text.data);
}

/* Names without end, levels without end, lines without end. */
static void
test_bounds(void)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoString(&text, "TopMemoryContext: 8 total in 1 blocks; 0 free (1 chunks); 8 used\n");
	for (int i = 0; i < 2000; i++)
		appendStringInfo(&text, "%*sname %d: 8 total in 1 blocks; 0 free (1 chunks); 8 used\n",
						 2 + i, "", i);
	appendStringInfo(&text, "%*s: 8 total in 1 blocks; 0 free (1 chunks); 8 used\n", 100000, "x");
	for (int i = 0; i < 100; i++)
		appendStringInfoString(&text, "5 more child contexts containing 10 total in 9 blocks; 9 free (1 chunks); 1 used\n");
	read_text(text.data);
	ok(reading.statistics[0].contexts == 2001 + 500 && reading.statistics[0].bytes == 8 * 2001 + 1000,
	   "names and levels for which there is no room count all the same");
	pfree(text.data);
}

/* A message, and what is kept of it. */
typedef struct Message
{
	const char *text;
	PlhMessageKind kind;
	uint64		bytes;
	const char *context;
} Message;

static const Message messages[] = {
	{"x [7] ERROR:  invalid memory alloc request size 18446744073709551613\n",
	PLH_MESSAGE_INVALID_SIZE, UINT64CONST(18446744073709551613), ""},
	{"psql: error: invalid memory alloc request size 1073741824\n",
	PLH_MESSAGE_INVALID_SIZE, 1073741824, ""},
	{"[7] ERROR:  out of memory\n[8] LOG:  other\n[7] DETAIL:  Failed on request of size 74 in memory context \"ExprContext\".\n",
	PLH_MESSAGE_OUT_OF_MEMORY, 74, "ExprContext"},
	{"ERROR:  out of memory\nDETAIL:  Failed on request of size 8192.\n",
	PLH_MESSAGE_OUT_OF_MEMORY, 8192, ""},
	{"ERROR:  out of memory\nDETAIL:  Cannot enlarge string buffer containing 1073741822 bytes by 1 more bytes.\n",
	PLH_MESSAGE_STRING_TOO_LONG, 0, ""},
	{"ERROR:  out of shared memory\nHINT:  You might need to increase max_locks_per_transaction.\n",
	PLH_MESSAGE_SHARED_TABLE, 0, ""},
	{"ERROR:  could not resize shared memory segment \"/PostgreSQL.1\" to 16777216 bytes: No space left on device\n",
	PLH_MESSAGE_SEGMENT, 16777216, ""},
	{"LOG:  could not fork new process for connection: Cannot allocate memory\n",
	PLH_MESSAGE_FORK, 0, "new process for connection"},
	{"LOG:  server process (PID 4711) was terminated by signal 9: Killed\nDETAIL:  Failed process was running: SELECT 1\n",
	PLH_MESSAGE_SIGNAL_9, 0, "server process"},
	{"{\"pid\":7,\"error_severity\":\"ERROR\",\"message\":\"out of memory\",\"detail\":\"Failed on request of size 5 in memory context \\\"a\\\".\"}\n",
	PLH_MESSAGE_OUT_OF_MEMORY, 5, "a"}
};

static void
test_messages(void)
{
	for (int i = 0; i < lengthof(messages); i++)
	{
		const PlhMemoryMessage *read = &reading.messages.list[0];
		const Message *message = &messages[i];

		read_text(message->text);
		ok(reading.messages.count == 1 && read->kind == message->kind &&
		   read->bytes == message->bytes && strcmp(read->context, message->context) == 0,
		   psprintf("message %d is known", i));
	}
	read_text("ERROR:  relation \"out of memory\" does not exist\nLOG:  ready\nERROR:  out of\n");
	ok(reading.messages.count == 0, "others are not");
	read_text("ERROR:  out of memory\nDETAIL:  Failed on request of size 1.\n"
			  "ERROR:  out of memory\nDETAIL:  Failed on request of size 3.\n");
	ok(reading.messages.count == 1 && reading.messages.list[0].count == 2 &&
	   reading.messages.list[0].bytes == 3, "those that are the same are counted");
}

/* The statistics of a process that ran out of memory, and why. */
static void
test_failure(void)
{
	const PlhStatistics *statistics = &reading.statistics[0];

	read_text("TopMemoryContext: 8192 total in 1 blocks; 100 free (1 chunks); 8092 used\n"
			  "Grand total: 8192 bytes in 6 blocks; 316 free (3 chunks); 34500 used\n"
			  "2026 [4711] ERROR:  out of memory\n"
			  "2026 [4711] DETAIL:  Failed on request of size 74 in memory context \"ExprContext\".\n"
			  "2026 [4711] STATEMENT:  SELECT 1\n");
	ok(statistics->pid == 4711 && statistics->failed_bytes == 74 &&
	   strcmp(statistics->failed_context, "ExprContext") == 0 &&
	   strcmp(statistics->failed_statement, "SELECT 1") == 0,
	   "statistics are those of the process whose error follows");
}

static void
test_kernel(void)
{
	const PlhOomReport *oom = &reading.oom;

	read_text("[  9.1] postgres invoked oom-killer: gfp_mask=0xcc0, order=0, oom_score_adj=0\n"
			  "[  9.1] memory: usage 1048576kB, limit 1048576kB, failcnt 9\n"
			  "[  9.1] [  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name\n"
			  "[  9.1] [   4711]   999  4711   100000    50000    30000      100     19900   400000        0             0 postgres\n"
			  "[  9.1] [   4712]   999  4712   100000    30000    10000      100     19900   400000        0         -1000 postgres\n"
			  "[  9.1] [   4713]     0  4713   100000      100      100        0         0   400000        0             0 a b\n"
			  "[  9.1] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/pod,task_memcg=/pod/x,task=postgres,pid=4711,uid=999\n"
			  "[  9.1] Memory cgroup out of memory: Killed process 4711 (postgres) total-vm:400000kB, anon-rss:120000kB, file-rss:400kB, shmem-rss:79600kB, UID:999\n");
	ok(oom->count == 1 && oom->of_group && oom->limit_bytes == INT64CONST(1073741824) &&
	   strcmp(oom->group, "/pod") == 0, "the kernel's report tells which group was full");
	ok(oom->server.processes == 2 && oom->server.anon_bytes == INT64CONST(40000) * 4096 &&
	   oom->server.most_shmem_bytes == 19900 * 4096 && oom->others.processes == 1 &&
	   strcmp(oom->others.largest_name, "a b") == 0, "its table is added up, shared memory once");
	ok(oom->killed_pid == 4711 && oom->killed_anon_bytes == INT64CONST(120000) * 1024 &&
	   oom->killed_shmem_bytes == 79600 * 1024, "and whom it killed is known");
}

/* What is said, as a text. */
static const char *
said_of(const char *text)
{
	PlhSaid		said;

	read_text(text);
	plh_log_explanation_say(&said, &reading, PG_UTF8);
	return said.text.data;
}

static void
test_sayings(void)
{
	const char *text = said_of(texts[0]);

	ok(strstr(text, "had 34 kB in 5 memory contexts") != NULL, "the size is told");
	ok(strstr(said_of("nothing at all\n"), "no statistics of memory contexts") != NULL,
	   "and also that there is nothing");
	for (int i = 0; i < lengthof(messages); i++)
		ok(strstr(said_of(messages[i].text), "?") == NULL, "each message has its words");
}

/* Any bytes are read without harm, and each number is one of the text's. */
static void
test_garbage(void)
{
	char		bytes[4096];

	for (int round = 0; round < 200; round++)
	{
		const char *text = texts[round % lengthof(texts)];
		Size		length = Min(strlen(text), sizeof(bytes));

		memcpy(bytes, text, length);
		for (int i = 0; i < 20; i++)
			bytes[random() % length] = (char) random();
		read_pieces(bytes, length, 1 + random() % 100);
		if (reading.kept > 0 && reading.statistics[0].bytes < 0)
			break;
	}
	ok(reading.kept == 0 || reading.statistics[0].bytes >= 0, "damaged texts are read without harm");
}

void
test_log_readings(void)
{
	test_lines();
	test_texts();
	test_rows();
	test_unlisted();
	test_many();
	test_bounds();
	test_messages();
	test_failure();
	test_kernel();
	test_sayings();
	test_garbage();
}
