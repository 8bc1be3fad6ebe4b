/*
 * scenario.c
 *	  Runs a scenario: what a process does, line by line, and what is seen of it.
 */
#include "postgres.h"

#include "named_code.h"
#include "scenario.h"
#include "scenario_looks.h"
#include "scenario_memory.h"
#include "scenario_portals.h"
#include "scenario_process.h"
#include "scenario_proof.h"
#include "scenario_server.h"

/* The deepest that loops lie within one another. */
#define DEPTH 8

/* A loop that runs. */
typedef struct Loop
{
	char		name[16];		/* of its number; empty: it has none */
	int64		number;
} Loop;

static const ScenarioFile *file;
static FILE *told;
static FILE *answers;			/* for programs; or NULL */
static Loop loops[DEPTH];
static int	depth;

/* The loop whose number a line has behind "$"; NULL: none. */
static const Loop *
loop_of(const char *name)
{
	for (int i = 0; i < depth; i++)
		if (loops[i].name[0] != '\0' &&
			strncmp(name, loops[i].name, strlen(loops[i].name)) == 0)
			return &loops[i];
	return NULL;
}

/* Copy a line without its indentation, with numbers in the places of the loops' names. */
static void
copy_line(char *to, Size room, const char *line)
{
	const char *end = to + room - 32;

	line += strspn(line, " \t");
	while (*line != '\0' && to < end)
	{
		const Loop *loop = *line == '$' ? loop_of(line + 1) : NULL;

		if (loop == NULL)
			*to++ = *line++;
		else
		{
			to += sprintf(to, INT64_FORMAT, loop->number);
			line += 1 + strlen(loop->name);
		}
	}
	*to = '\0';
}

/* Is that a line of nothing to do? */
static bool
is_silent(int index)
{
	const char *line = file->lines[index] + strspn(file->lines[index], " \t");

	return *line == '\0' || *line == '#' || *line == '|';
}

static void
split(Words *words, int index)
{
	char		line[4096];

	copy_line(line, sizeof(line), file->lines[index]);
	words_split(words, file->path, index + 1, line);
}

/* Does a line begin with that word? */
static bool
begins_with(int index, const char *word)
{
	const char *line = file->lines[index] + strspn(file->lines[index], " \t");
	Size		length = strlen(word);

	return strncmp(line, word, length) == 0 &&
		(line[length] == '\0' || line[length] == ' ');
}

/* The index of the "end" that belongs to a loop. */
static int
end_of(const Words *words, int index)
{
	int			inner = 0;

	for (int i = index + 1; i < file->count; i++)
	{
		if (begins_with(i, "repeat"))
			inner++;
		else if (begins_with(i, "end") && inner-- == 0)
			return i;
	}
	words_fail(words, "\"end\" is missing");
}

static void run_lines(int from, int to);

/* repeat N [as NAME] */
static void
repeat(Words *words, int from, int to)
{
	Loop	   *loop = &loops[depth];
	int64		count = (int64) words_number(words);

	if (depth == DEPTH)
		words_fail(words, "there are too many loops");
	loop->name[0] = '\0';
	if (words_take(words, "as"))
		strlcpy(loop->name, words_next(words), sizeof(loop->name));
	words_end(words);
	depth++;
	for (loop->number = 1; loop->number <= count; loop->number++)
		run_lines(from, to);
	depth--;
}

/* Look at the process; the answer is told.  Returns false if the word is no look. */
static bool
look(const char *command, Words *words, int index)
{
	const char *answer = scenario_looks_at(command, words);

	if (answer == NULL)
		return false;
	if (depth > 0)
		words_fail(words, "in a loop nothing is looked at");
	fprintf(told, "%d %zu\n%s\n", index, strlen(answer), answer);
	return true;
}

/* Of a loop the turns 1, 2, 4 and so on are, and there is a process to be asked about. */
static bool
is_worth_an_answer(void)
{
	for (int i = 0; i < depth; i++)
		if ((loops[i].number & (loops[i].number - 1)) != 0)
			return false;
	return scenario_looks_may_answer();
}

/* What is said now, for programs. */
static void
give_answer(int index)
{
	fprintf(answers, "{\"of\":\"%s:%d\",\"answer\":%s}\n", file->path, index + 1,
			scenario_looks_answer());
}

/* Do what a line says that is no loop. */
static void
run_line(Words *words, int index)
{
	const char *command = words_next(words);

	if (strcmp(command, "fails") != 0 && strcmp(command, "is") != 0)
		scenario_process_check(words);
	if (strcmp(command, "function") == 0)
		named_code_place(words);
	else if (!scenario_process_do(command, words) &&
			 !scenario_memory_do(command, words) &&
			 !scenario_proof_do(command, words) &&
			 !scenario_portals_do(command, words) &&
			 !scenario_server_do(command, words) &&
			 !look(command, words, index))
		words_fail(words, "\"%s\" is no command", command);
	words_end(words);
	scenario_server_keep();
	if (answers != NULL && is_worth_an_answer())
		give_answer(index);
}

static void
run_lines(int from, int to)
{
	for (int i = from; i < to; i++)
	{
		Words		words;

		if (is_silent(i))
			continue;
		split(&words, i);
		if (words_take(&words, "repeat"))
		{
			int			end = end_of(&words, i);

			repeat(&words, i + 1, end);
			i = end;
		}
		else
			run_line(&words, i);
	}
}

void
scenario_run(const ScenarioFile *run_file, FILE *run_told, FILE *run_answers)
{
	file = run_file;
	told = run_told;
	answers = run_answers;
	run_lines(0, file->count);
	scenario_server_end();
}
