/*
 * pg_leakhunt_look.c
 *	  Says what a text tells of a server's memory: statistics of memory contexts, messages of its
 *	  log, reports of the kernel.
 *
 * It is a program that needs no server, and is no part of the module.  What it says comes from the
 * same files as what the module says (src/statistics, src/telling).
 */
#include "postgres.h"

#include <getopt.h>

#include "mb/pg_wchar.h"

#include "look/look_page.h"
#include "reader/redaction.h"
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
	Format		format;
} Options;

/* It has all that is kept of the texts, and is as large for each of them. */
static PlhLogReading reading;

static const char usage[] =
"pg_leakhunt_look explains what a log says of a PostgreSQL server's memory.\n"
"\n"
"Usage:\n"
"  pg_leakhunt_look --log FILE...\n"
"  pg_leakhunt_look --rows FILE...\n"
"\n"
"A FILE of - is the standard input.\n"
"\n"
"Options:\n"
"  --log             look for statistics of memory contexts, for messages about memory,\n"
"                    and for reports of the kernel, in a log or in any other text\n"
"  --rows            look for rows of pg_backend_memory_contexts only\n"
"  --format FORMAT   text (the default), json or html\n"
"  --redact          show statements without their literals\n"
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

static void
show(const Options *options)
{
	StringInfoData text;
	PlhSaid		said;

	initStringInfo(&text);
	if (options->format == FORMAT_JSON)
		plh_log_explanation_put(&text, &reading, PG_UTF8);
	else
	{
		plh_log_explanation_say(&said, &reading, PG_UTF8);
		if (options->format == FORMAT_HTML)
			plh_look_page_append(&text, said.text.data);
		else
			text = said.text;
	}
	puts(text.data);
}

int
main(int argc, char **argv)
{
	Options		options = read_options(argc, argv);
	bool		all_read = true;

	if (!options.is_log && !options.rows_only)
		fail_usage("what to look at is not told: --log or --rows");
	if (optind == argc)
		fail_usage("no file is named; - is the standard input");
	plh_log_reading_begin(&reading, options.rows_only);
	for (int i = optind; i < argc; i++)
		all_read &= read_file(argv[i]);
	plh_redaction_begin(options.redact);
	show(&options);
	if (fflush(stdout) != 0)
	{
		fprintf(stderr, "pg_leakhunt_look: could not write: %m\n");
		return 1;
	}
	return all_read ? 0 : 1;
}
