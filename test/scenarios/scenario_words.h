/*
 * scenario_words.h
 *	  The words of a line of a scenario, one after the other.
 *
 * A word ends at a blank or a comma; one in double quotes may have both.  Whatever is
 * missing, too much or not understood ends the scenario with the place of the line.
 */
#ifndef SCENARIO_WORDS_H
#define SCENARIO_WORDS_H

#define SCENARIO_WORDS 64

typedef struct Words
{
	const char *path;
	int			number;			/* of the line */
	char		line[4096];
	int			count;
	int			at;				/* the next */
	char	   *words[SCENARIO_WORDS];
	int			begins[SCENARIO_WORDS]; /* in the line */
	char		buffer[4096];	/* of the words */
} Words;

extern void words_split(Words *words, const char *path, int number, const char *line);
extern void words_fail(const Words *words, const char *format,...) __attribute__((format(printf, 2, 3), noreturn));

extern bool words_are_left(const Words *words);
extern const char *words_next(Words *words);
extern const char *words_rest(Words *words);	/* as it stands in the line */
extern bool words_take(Words *words, const char *word); /* if it is the next */
extern void words_expect(Words *words, const char *word);
extern void words_end(const Words *words);

/* "64 kB", "100 ms", "50%" and "400", with or without a blank. */
extern int64 words_size(Words *words);
extern int64 words_time(Words *words);	/* in microseconds */
extern double words_part(Words *words);
extern double words_number(Words *words);

#endif							/* SCENARIO_WORDS_H */
