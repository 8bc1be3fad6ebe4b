/*
 * run_scenarios.c
 *	  Runs scenarios, and compares each answer with the one that is expected.
 *
 *	  run_scenarios [--accept | --answers] FILE...
 *
 * Each scenario runs in a process of its own, as a session of a server does.  The result
 * is TAP, one check for each answer; with --accept the answers are written to the files.
 * With --answers all that is said behind each line is printed, as JSON, for
 * ../contradictions.
 */
#include "postgres.h"

#include <sys/wait.h>
#include <unistd.h>

#include "scenario.h"
#include "scenario_file.h"
#include "tap.h"

/* Run a scenario in a process of its own; its answers are by the index of their lines. */
static bool
run(const ScenarioFile *file, char **answers, bool prints)
{
	FILE	   *told = tmpfile();
	pid_t		child;
	int			status;
	int			index;
	int			bytes;

	fflush(stdout);
	child = fork();
	if (child == 0)
	{
		scenario_run(file, told, prints ? stdout : NULL);
		fflush(stdout);
		fflush(told);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		abort();
	rewind(told);
	while (fscanf(told, "%d %d\n", &index, &bytes) == 2)
	{
		answers[index] = calloc(1, bytes + 1);
		if (fread(answers[index], 1, bytes, told) != bytes)
			abort();
	}
	fclose(told);
	return status == 0;
}

/* Print a line with a mark in front; returns where the next one begins. */
static const char *
print_line(const char *mark, const char *text)
{
	int			length = strcspn(text, "\n");

	printf("# %s%.*s\n", mark, length, text);
	return text + length + (text[length] == '\n');
}

/* How many bytes of two texts are whole lines that both begin with? */
static int
common_lines(const char *a, const char *b)
{
	int			common = 0;

	for (int i = 0; a[i] != '\0' && a[i] == b[i]; i++)
		if (a[i] == '\n')
			common = i + 1;
	return common;
}

/* Behind how many bytes of each is the rest of two texts the same whole lines? */
static void
find_common_end(const char *a, const char *b, int from, int *a_end, int *b_end)
{
	int			x = strlen(a);
	int			y = strlen(b);

	*a_end = x;
	*b_end = y;
	while (x > from && y > from && a[x - 1] == b[y - 1])
	{
		x--;
		y--;
		if ((x == from || a[x - 1] == '\n') && (y == from || b[y - 1] == '\n'))
		{
			*a_end = x;
			*b_end = y;
		}
	}
}

static void
print_lines(const char *mark, const char *from, const char *to)
{
	while (from < to)
		from = print_line(mark, from);
}

/* Show in what an answer differs: the lines before and behind are the same. */
static void
print_difference(const char *expected, const char *answer)
{
	int			common = common_lines(expected, answer);
	int			expected_end;
	int			answer_end;

	find_common_end(expected, answer, common, &expected_end, &answer_end);
	print_lines("  ", answer, answer + common);
	print_lines("- ", expected + common, expected + expected_end);
	print_lines("+ ", answer + common, answer + answer_end);
	print_lines("  ", answer + answer_end, answer + strlen(answer));
}

/* Compare the answer behind a line. */
static void
check(const ScenarioFile *file, int index, const char *answer)
{
	char	   *expected = scenario_file_answer(file, index);
	bool		is_same = strcmp(expected, answer) == 0;
	char		name[512];

	snprintf(name, sizeof(name), "%s:%d %s: %s", file->path, index + 1, file->title,
			 file->lines[index] + strspn(file->lines[index], " \t"));
	ok(is_same, name);
	if (!is_same)
		print_difference(expected, answer);
	free(expected);
}

/* Is an answer the one that is expected, which may have parts of other versions? */
static bool
is_expected(const ScenarioFile *file, int index, const char *answer)
{
	char	   *expected = scenario_file_answer(file, index);
	bool		is_same = strcmp(expected, answer) == 0;

	free(expected);
	return is_same;
}

static void
run_file(const char *path, bool accepts)
{
	ScenarioFile *file = scenario_file_read(path);
	char	  **answers = calloc(file->count, sizeof(char *));
	int			count = 0;

	if (!run(file, answers, false))
	{
		ok(false, file->title);
		return;
	}
	for (int i = 0; i < file->count; i++)
	{
		if (answers[i] == NULL)
			continue;
		count++;
		if (!accepts)
			check(file, i, answers[i]);
		else if (is_expected(file, i, answers[i]))
			answers[i] = NULL;
	}
	if (count == 0)
		ok(false, psprintf("%s: something is looked at", path));
	if (accepts)
		scenario_file_accept(file, answers);
}

/* Print what is said behind each line of a scenario, for programs. */
static void
print_answers(const char *path)
{
	ScenarioFile *file = scenario_file_read(path);

	(void) run(file, calloc(file->count, sizeof(char *)), true);
}

int
main(int argc, char **argv)
{
	bool		prints = argc > 1 && strcmp(argv[1], "--answers") == 0;
	bool		accepts = argc > 1 && strcmp(argv[1], "--accept") == 0;

	if (argc < 2 + accepts + prints)
	{
		fprintf(stderr, "Usage: %s [--accept | --answers] FILE...\n", argv[0]);
		return 2;
	}
	for (int i = 2; prints && i < argc; i++)
		print_answers(argv[i]);
	for (int i = 1 + accepts; !prints && i < argc; i++)
		run_file(argv[i], accepts);
	return prints ? 0 : tests_end();
}
