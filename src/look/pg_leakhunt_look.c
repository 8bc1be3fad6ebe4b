/*
 * pg_leakhunt_look.c
 *	  Says what a process has in its memory, or what a text tells of a server's memory: statistics
 *	  of memory contexts, messages of its log, reports of the kernel.
 *
 * It is a program that needs no server, and is no part of the module.  What it says comes from the
 * same files as what the module says (src/statistics, src/telling).
 */
#include "postgres.h"

#include <fcntl.h>
#include <getopt.h>
#include <unistd.h>

#include "mb/pg_wchar.h"

#include "base/whole_io.h"
#include "look/look_findings.h"
#include "look/look_page.h"
#include "reader/redaction.h"
#include "report/json.h"
#include "statistics/log_explanation.h"

typedef enum Format
{
	FORMAT_TEXT,
	FORMAT_JSON,
	FORMAT_HTML
} Format;

typedef struct Options
{
	bool		is_log;
	bool		rows_only;
	bool		redact;
	bool		no_stop;
	const char *core;			/* NULL: none is named */
	const char *binary;			/* likewise */
	Format		format;
} Options;

/* It has all that is kept of the texts, and is as large for each of them. */
static PlhLogReading reading;

static const char usage[] =
"pg_leakhunt_look explains what a PostgreSQL process has in its memory, or what a log says of it.\n"
"\n"
"Usage:\n"
"  pg_leakhunt_look PID\n"
"  pg_leakhunt_look --core FILE\n"
"  pg_leakhunt_look --log FILE...\n"
"  pg_leakhunt_look --rows FILE...\n"
"\n"
"A process need not have loaded anything.  It stands still while its memory is copied, and\n"
"nothing is written to it.  Only root and the server's user may look at it.\n"
"A FILE of - is the standard input.\n"
"\n"
"Options:\n"
"  --log             look for statistics of memory contexts, for messages about memory,\n"
"                    and for reports of the kernel, in a log or in any other text\n"
"  --rows            look for rows of pg_backend_memory_contexts only\n"
"  --core FILE       look at the process that a core file is of\n"
"  --binary FILE     the server's program, if not where the core file says that it was\n"
"  --no-stop         do not stop the process: what it changes meanwhile is torn\n"
"  --format FORMAT   text (the default), json or html\n"
"  --redact          show statements without their literals, and no contents\n"
"  --version         show the version, and exit\n"
"  --help            show this, and exit\n";

static void
fail_usage(const char *message)
{
	fprintf(stderr, "pg_leakhunt_look: %s\nTry \"pg_leakhunt_look --help\".\n", message);
	exit(2);
}

static Format
read_format(const char *name)
{
	if (strcmp(name, "text") == 0)
		return FORMAT_TEXT;
	if (strcmp(name, "json") == 0)
		return FORMAT_JSON;
	if (strcmp(name, "html") != 0)
		fail_usage("a format is text, json or html");
	return FORMAT_HTML;
}

static Options
read_options(int argc, char **argv)
{
	static const struct option known[] = {
		{"log", no_argument, NULL, 'l'},
		{"rows", no_argument, NULL, 'r'},
		{"core", required_argument, NULL, 'c'},
		{"binary", required_argument, NULL, 'b'},
		{"no-stop", no_argument, NULL, 'n'},
		{"format", required_argument, NULL, 'f'},
		{"redact", no_argument, NULL, 'x'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{NULL}
	};
	Options		options = {0};
	int			option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1)
		switch (option)
		{
			case 'l':
				options.is_log = true;
				break;
			case 'r':
				options.rows_only = true;
				break;
			case 'c':
				options.core = optarg;
				break;
			case 'b':
				options.binary = optarg;
				break;
			case 'n':
				options.no_stop = true;
				break;
			case 'f':
				options.format = read_format(optarg);
				break;
			case 'x':
				options.redact = true;
				break;
			case 'V':
				puts("pg_leakhunt_look " PLH_EXTENSION_VERSION);
				exit(0);
			case 'h':
				fputs(usage, stdout);
				exit(0);
			default:
				fail_usage("there is no such option");
		}
	return options;
}

/* Read a file to its end, piece by piece.  Returns false, and says why, if that can't be. */
static bool
read_file(const char *name)
{
	static char piece[256 * 1024];
	bool		is_input = strcmp(name, "-") == 0;
	FILE	   *file = is_input ? stdin : fopen(name, "rb");
	bool		is_read;
	Size		bytes;

	if (file == NULL)
	{
		fprintf(stderr, "pg_leakhunt_look: could not open file \"%s\": %m\n", name);
		return false;
	}
	while ((bytes = fread(piece, 1, sizeof(piece), file)) > 0)
		plh_log_reading_add(&reading, piece, bytes);
	is_read = !ferror(file);
	if (!is_read)
		fprintf(stderr, "pg_leakhunt_look: could not read file \"%s\": %m\n", name);
	plh_log_reading_end(&reading);
	if (!is_input)
		fclose(file);
	return is_read;
}

/* Show what is said of texts, or of a process, whose heap is not NULL then. */
static void
show_words(const Options *options, const char *title, const char *text, const PlhLookHeap *heap)
{
	StringInfoData page;

	if (options->format == FORMAT_TEXT)
	{
		puts(text);
		return;
	}
	initStringInfo(&page);
	plh_look_page_append(&page, title, text, &reading, heap);
	fputs(page.data, stdout);
}

static void
show_texts(const Options *options)
{
	StringInfoData json;
	PlhSaid		said;

	if (options->format == FORMAT_JSON)
	{
		initStringInfo(&json);
		plh_log_explanation_put(&json, &reading, PG_UTF8);
		puts(json.data);
		return;
	}
	plh_log_explanation_say(&said, &reading, PG_UTF8);
	show_words(options, "What a log says of memory", said.text.data, NULL);
}

static void
show_process(const Options *options, const PlhLookHeap *heap, const PlhLookFacts *facts)
{
	StringInfoData json;
	PlhSaid		said;

	plh_sentences_begin(&said);
	plh_log_explanation_say_statistics(&said, &reading, PG_UTF8);
	plh_look_findings_say(&said, heap, facts);
	if (options->format != FORMAT_JSON)
	{
		show_words(options, "What a process has in its memory", said.text.data, heap);
		return;
	}
	initStringInfo(&json);
	plh_json_open(&json, '{');
	plh_json_put_text(&json, "text", said.text.data);
	plh_log_explanation_put_members(&json, &reading, PG_UTF8);
	plh_look_findings_put(&json, heap, facts);
	plh_json_close(&json, '}');
	puts(json.data);
}

/* Where memory is short, this process goes before others: it has a copy of another's. */
static void
go_first(void)
{
	int			fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void) plh_whole_io_write(fd, "1000", 4, PLH_FILE_POSITION);
	close(fd);
}

/* Say what there is to say of a process that was walked. */
static int
tell_process(const Options *options, PlhLookHeap *heap, const PlhLookFacts *facts)
{
	plh_look_heap_read(heap, &reading);
	plh_look_heap_prove(heap);
	show_process(options, heap, facts);
	return 0;
}

static int
look_at_process(const Options *options, int pid)
{
	static PlhLookHeap heap;
	PlhLookFacts facts;

	go_first();
	plh_look_server_check(pid);
	plh_look_heap_walk(&heap, pid, !options->no_stop);
	facts = plh_look_findings_ask(pid);
	reading.from = PLH_READ_FROM_PROCESS;
	return tell_process(options, &heap, &facts);
}

static int
look_at_core(const Options *options)
{
	static PlhLookHeap heap;
	const PlhLookFacts unknown = {-1, -1, -1, -1};

	plh_look_heap_walk_core(&heap, options->core, options->binary);
	reading.from = PLH_READ_FROM_CORE;
	return tell_process(options, &heap, &unknown);
}

static int
look_at_texts(const Options *options, int count, char **names)
{
	bool		all_read = true;

	for (int i = 0; i < count; i++)
		all_read &= read_file(names[i]);
	show_texts(options);
	return all_read ? 0 : 1;
}

/* The id of a process that is the only argument; 0: there is none. */
static int
read_pid(int count, char **arguments)
{
	char	   *end;
	long		pid = count == 1 ? strtol(arguments[0], &end, 10) : 0;

	return pid > 0 && pid <= PG_INT32_MAX && *end == '\0' ? (int) pid : 0;
}

static int
look(const Options *options, int count, char **arguments)
{
	int			pid = read_pid(count, arguments);

	if (options->core != NULL && count == 0)
		return look_at_core(options);
	if (options->is_log || options->rows_only)
	{
		if (count == 0)
			fail_usage("no file is named; - is the standard input");
		return look_at_texts(options, count, arguments);
	}
	if (options->core != NULL || pid == 0)
		fail_usage("what to look at is not told: the id of a process, --core, --log or --rows");
	return look_at_process(options, pid);
}

int
main(int argc, char **argv)
{
	Options		options = read_options(argc, argv);
	int			status;

	plh_log_reading_begin(&reading, options.rows_only);
	plh_redaction_begin(options.redact);
	status = look(&options, argc - optind, argv + optind);
	if (fflush(stdout) != 0)
	{
		fprintf(stderr, "pg_leakhunt_look: could not write: %m\n");
		return 1;
	}
	return status;
}
