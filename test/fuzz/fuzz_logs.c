/*
 * fuzz_logs.c
 *	  A text that says anything of memory: a log, or what somebody has pasted.
 *
 * An input is a text, which comes in pieces of a size that follows from it.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"

#include "fuzz.h"
#include "statistics/log_explanation.h"

/* What an input has for a reader. */
typedef struct Input
{
	const char *text;
	Size		bytes;
} Input;

static PlhLogReading reading;

static void
read_text(const Input *input)
{
	Size		piece = 1 + input->bytes % 4096;

	plh_log_reading_begin(&reading, input->bytes % 5 == 0);
	for (Size at = 0; at < input->bytes; at += piece)
		plh_log_reading_add(&reading, input->text + at, Min(piece, input->bytes - at));
	plh_log_reading_end(&reading);
}

/* Names and what is not listed add up to no more than all, and nothing is below 0. */
static void
check_statistics(const PlhStatistics *statistics)
{
	int64		contexts = 0;

	HOLDS(statistics->name_count <= PLH_STATISTICS_NAMES);
	HOLDS(statistics->bytes >= 0 && statistics->free_bytes >= 0);
	HOLDS(statistics->free_bytes <= statistics->bytes);
	for (int i = 0; i < statistics->name_count; i++)
	{
		const PlhStatisticsName *name = &statistics->names[i];

		HOLDS(name->bytes >= 0 && name->bytes <= statistics->bytes);
		HOLDS(name->largest_bytes <= name->bytes && name->free_bytes <= name->bytes);
		contexts += name->contexts;
	}
	HOLDS(contexts <= statistics->contexts);
	for (int i = 0; i < statistics->rest_count; i++)
		HOLDS(statistics->rests[i].like < statistics->name_count);
}

/* A terminal takes no command from what is said. */
static void
check_text(const char *text)
{
	HOLDS(text[0] != '\0');
	for (; *text != '\0'; text++)
		HOLDS((unsigned char) *text >= ' ' || *text == '\n');
}

/* MayThrow, which it does not. */
static void
explain(void *arg)
{
	StringInfoData json;
	PlhSaid		said;

	read_text(arg);
	HOLDS(reading.kept <= PLH_READING_STATISTICS && reading.kept <= reading.found);
	for (int i = 0; i < reading.kept; i++)
		check_statistics(&reading.statistics[i]);
	plh_log_explanation_say(&said, &reading, PG_UTF8);
	check_text(said.text.data);
	initStringInfo(&json);
	plh_log_explanation_put(&json, &reading, PG_UTF8);
	HOLDS(json.data[0] == '{' && json.data[json.len - 1] == '}');
}

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t bytes)
{
	/* of just its size, so that what is read behind it is found out */
	char	   *text = malloc(Max(bytes, 1));
	Input		input = {text, bytes};

	memcpy(text, data, bytes);
	HOLDS(fuzz_run(bytes, explain, &input) == 0);
	fuzz_accepted += reading.kept > 0 || reading.messages.count > 0 || reading.oom.count > 0;
	free(text);
	return 0;
}
