/*
 * scenario_words.c
 *	  The words of a line of a scenario, one after the other.
 */
#include "postgres.h"

#include <unistd.h>

#include "scenario_words.h"

typedef struct Unit
{
	const char *name;
	double		value;
} Unit;

static const Unit sizes[] = {
	{"B", 1}, {"kB", 1024}, {"MB", 1024 * 1024}, {"GB", 1024 * 1024 * 1024}, {NULL}
};
static const Unit times[] = {
	{"us", 1}, {"ms", 1000}, {"s", 1000000}, {"min", 60 * 1000000.0},
	{"h", 3600 * 1000000.0}, {NULL}
};
static const Unit parts[] = {{"%", 0.01}, {NULL}};

void
words_fail(const Words *words, const char *format,...)
{
	va_list		arguments;

	fflush(stdout);
	fprintf(stderr, "%s:%d: ", words->path, words->number);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	_exit(2);
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == ',';
}

/* Copy a word to "to"; returns where the line goes on. */
static const char *
copy_word(const Words *words, const char *from, char **to)
{
	bool		is_quoted = *from == '"';

	from += is_quoted;
	while (*from != '\0' && (is_quoted ? *from != '"' : !is_blank(*from)))
		*(*to)++ = *from++;
	if (is_quoted && *from == '\0')
		words_fail(words, "a quotation mark is missing");
	*(*to)++ = '\0';
	return from + is_quoted;
}

void
words_split(Words *words, const char *path, int number, const char *line)
{
	char	   *to = words->buffer;
	const char *from = line;

	words->path = path;
	words->number = number;
	words->count = words->at = 0;
	if (strlen(line) + SCENARIO_WORDS >= sizeof(words->buffer))
		words_fail(words, "the line is too long");
	strcpy(words->line, line);
	for (;;)
	{
		while (is_blank(*from))
			from++;
		if (*from == '\0')
			return;
		if (words->count == SCENARIO_WORDS)
			words_fail(words, "the line has too many words");
		words->begins[words->count] = from - line;
		words->words[words->count++] = to;
		from = copy_word(words, from, &to);
	}
}

bool
words_are_left(const Words *words)
{
	return words->at < words->count;
}

const char *
words_next(Words *words)
{
	if (!words_are_left(words))
		words_fail(words, "something is missing behind \"%s\"",
				   words->words[words->count - 1]);
	return words->words[words->at++];
}

const char *
words_rest(Words *words)
{
	int			begin;

	if (!words_are_left(words))
		return "";
	begin = words->begins[words->at];
	words->at = words->count;
	return words->line + begin;
}

bool
words_take(Words *words, const char *word)
{
	if (!words_are_left(words) || strcmp(words->words[words->at], word) != 0)
		return false;
	words->at++;
	return true;
}

void
words_expect(Words *words, const char *word)
{
	const char *next = words_next(words);

	if (strcmp(next, word) != 0)
		words_fail(words, "\"%s\" where \"%s\" was expected", next, word);
}

void
words_end(const Words *words)
{
	if (words_are_left(words))
		words_fail(words, "\"%s\" is too much", words->words[words->at]);
}

/* A number with one of these units. */
static double
number_of(Words *words, const Unit *units)
{
	const char *word = words_next(words);
	char	   *end;
	double		number = strtod(word, &end);

	if (end == word || number < 0)
		words_fail(words, "\"%s\" is no number", word);
	if (units == NULL && *end == '\0')
		return number;
	if (units != NULL && *end == '\0')
		end = unconstify(char *, words_next(words));
	for (; units != NULL && units->name != NULL; units++)
		if (strcmp(units->name, end) == 0)
			return number * units->value;
	words_fail(words, "\"%s\" is no unit here", end);
}

int64
words_size(Words *words)
{
	return (int64) number_of(words, sizes);
}

int64
words_time(Words *words)
{
	return (int64) number_of(words, times);
}

double
words_part(Words *words)
{
	return number_of(words, parts);
}

double
words_number(Words *words)
{
	return number_of(words, NULL);
}
