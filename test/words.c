/*
 * words.c
 *	  Prints what documents say of verdicts and sentences, from the tables of src/telling.
 *
 * words sentences: the page on explanations; words verdicts: rows of README's table.
 */
#include <stdio.h>
#include <string.h>

/* Write a sentence as Markdown: its fields are in italics. */
static void
write_sentence(const char *words)
{
	for (; *words != '\0'; words++)
	{
		if (*words == '{' || *words == '}')
			putchar('*');
		else if (*words == '|' || *words == '*' || *words == '_' || *words == '<')
			printf("\\%c", *words);
		else
			putchar(*words);
	}
}

/* Write what a verdict means: names of settings and functions are in typewriter. */
static void
write_meaning(const char *words)
{
	static const char *const names[] = {"work_mem", "malloc"};

	while (*words != '\0')
	{
		size_t		length = 0;

		for (int i = 0; i < 2 && length == 0; i++)
			if (strncmp(words, names[i], strlen(names[i])) == 0)
				length = strlen(names[i]);
		if (length > 0)
			printf("`%.*s`", (int) length, words);
		else
			putchar(*words);
		words += length > 0 ? length : 1;
	}
}

/* Write a row: what is said of a process that lives, and when. */
static void
write_row(const char *words, const char *when)
{
	printf("| ");
	write_sentence(words);
	printf(" | %s |\n", when);
}

static void
write_sentences(void)
{
#define SECTION(title) printf("\n## %s\n\n| what it says | when |\n|---|---|\n", title);
#define SENTENCE(id, when, alive, gone) write_row(alive, when);
#define PHRASE(id, when, alive, gone) write_row(alive, when);
#define PLURAL(id, when, alive, alive_many, gone, gone_many) write_row(alive_many, when);
#include "telling/sentence_table.h"
}

/* The name of a verdict in lower case. */
static void
write_name(const char *id)
{
	for (; *id != '\0'; id++)
		putchar(*id + ('a' - 'A'));
}

static void
write_verdicts(void)
{
	printf("| `verdict` | what it means | what to do |\n|---|---|---|\n");
#define VERDICT_WORDS(id, tone, meaning, todo) \
	printf("| `"); \
	write_name(#id); \
	printf("` | "); \
	write_meaning(meaning); \
	printf(" | %s |\n", todo);
#define KIND_WORDS(id, cause, headline, answer)
#include "telling/verdict_table.h"
}

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "sentences") == 0)
		write_sentences();
	else if (argc == 2 && strcmp(argv[1], "verdicts") == 0)
		write_verdicts();
	else
	{
		fprintf(stderr, "usage: words sentences|verdicts\n");
		return 2;
	}
	return 0;
}
