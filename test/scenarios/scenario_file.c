/*
 * scenario_file.c
 *	  A file with a scenario: its lines, and the answers that are expected in it.
 */
#include "postgres.h"

#include "scenario_file.h"

/* What a line of an answer begins with, behind its blanks. */
#define ANSWER '|'

static void
fail(const char *path, const char *what)
{
	fprintf(stderr, "%s: %s\n", path, what);
	exit(2);
}

static void
add_line(ScenarioFile *file, char *line)
{
	if (file->count % 256 == 0)
		file->lines = realloc(file->lines, sizeof(char *) * (file->count + 256));
	file->lines[file->count++] = line;
}

ScenarioFile *
scenario_file_read(const char *path)
{
	ScenarioFile *file = calloc(1, sizeof(ScenarioFile));
	FILE	   *stream = fopen(path, "r");
	char	   *line = NULL;
	size_t		room = 0;

	file->path = path;
	if (stream == NULL)
		fail(path, strerror(errno));
	while (getline(&line, &room, stream) >= 0)
	{
		line[strcspn(line, "\n")] = '\0';
		add_line(file, strdup(line));
	}
	fclose(stream);
	free(line);
	if (file->count == 0 || strncmp(file->lines[0], "# ", 2) != 0)
		fail(path, "its first line is not a title behind \"# \"");
	file->title = file->lines[0] + 2;
	return file;
}

/* Where a line begins behind its blanks. */
static const char *
behind_blanks(const char *line)
{
	return line + strspn(line, " \t");
}

bool
scenario_file_is_answer(const ScenarioFile *file, int index)
{
	return index < file->count && *behind_blanks(file->lines[index]) == ANSWER;
}

/*
 * Is that "[until N:" or "[from N:", of this version of PostgreSQL or of others?  "text" is
 * behind it then.
 */
static bool
begins_version(const char **text, bool *is_of_this)
{
	int			version;
	int			length = 0;

	if (sscanf(*text, "[until %d:%n", &version, &length) == 1 && length > 0)
		*is_of_this = PG_VERSION_NUM / 10000 <= version;
	else if (sscanf(*text, "[from %d:%n", &version, &length) == 1 && length > 0)
		*is_of_this = PG_VERSION_NUM / 10000 >= version;
	else
		return false;
	*text += length;
	return true;
}

/* Write a line of an answer as it is in this version. */
static void
write_line(FILE *stream, const char *text)
{
	bool		in_version = false;
	bool		is_of_this = true;

	while (*text != '\0')
	{
		if (!in_version && *text == '[')
			in_version = begins_version(&text, &is_of_this);
		if (in_version && *text == ']')
		{
			in_version = false;
			is_of_this = true;
			text++;
		}
		else if (*text != '\0')
		{
			if (is_of_this)
				fputc(*text, stream);
			text++;
		}
	}
	fputc('\n', stream);
}

char *
scenario_file_answer(const ScenarioFile *file, int index)
{
	char	   *answer;
	size_t		bytes;
	FILE	   *stream = open_memstream(&answer, &bytes);

	while (scenario_file_is_answer(file, ++index))
	{
		const char *text = behind_blanks(file->lines[index]) + 1;

		write_line(stream, *text == ' ' ? text + 1 : text);
	}
	fclose(stream);
	return answer;
}

/* Write an answer behind a line, and as far to the right. */
static void
write_answer(FILE *stream, const char *line, const char *answer)
{
	int			blanks = behind_blanks(line) - line;

	while (*answer != '\0')
	{
		int			length = strcspn(answer, "\n");

		fprintf(stream, "%.*s%c%s%.*s\n", blanks, line, ANSWER,
				length > 0 ? " " : "", length, answer);
		answer += length + (answer[length] == '\n');
	}
}

void
scenario_file_accept(const ScenarioFile *file, char *const *answers)
{
	FILE	   *stream = fopen(file->path, "w");

	if (stream == NULL)
		fail(file->path, strerror(errno));
	for (int i = 0; i < file->count; i++)
	{
		fprintf(stream, "%s\n", file->lines[i]);
		if (answers[i] == NULL)
			continue;
		write_answer(stream, file->lines[i], answers[i]);
		while (scenario_file_is_answer(file, i + 1))
			i++;
	}
	if (fclose(stream) != 0)
		fail(file->path, strerror(errno));
}
