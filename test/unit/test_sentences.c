/*
 * test_sentences.c
 *	  The table of sentences and that of verdicts: each row can be said as it stands.
 */
#include "postgres.h"

#include "telling/verdict_words.h"
#include "unit_tests.h"

/* The most words of a sentence. */
#define MOST_WORDS 60

/* A row of the table; "words" are of what lives, and of what is gone. */
typedef struct Row
{
	const char *name;
	bool		is_phrase;
	bool		is_plural;
	const char *words[2];
	const char *many[2];
} Row;

static const Row rows[PLH_SENTENCES] = {
#define SECTION(title)
#define SENTENCE(id, when, alive, gone) {#id, false, false, {alive, gone}},
#define PHRASE(id, when, alive, gone) {#id, true, false, {alive, gone}},
#define PLURAL(id, when, alive, alive_many, gone, gone_many) \
	{#id, false, true, {alive, gone}, {alive_many, gone_many}},
#include "telling/sentence_table.h"
};

static const char *const field_names[] = {
#define FIELD_NAME(name) #name,
	PLH_EACH_TEXT(FIELD_NAME)
	PLH_EACH_NUMBER(FIELD_NAME)
};

/* Call a test for all words of all rows; print, and count, those for which it fails. */
static int
count_failures(bool (*is_right) (const Row *row, const char *words))
{
	int			failures = 0;

	for (int i = 0; i < PLH_SENTENCES; i++)
		for (int form = 0; form < 4; form++)
		{
			const char *words = form < 2 ? rows[i].words[form] : rows[i].many[form - 2];

			if (words == NULL || is_right(&rows[i], words))
				continue;
			printf("# %s: %s\n", rows[i].name, words);
			failures++;
		}
	return failures;
}

static bool
is_field(const char *name, Size length)
{
	for (int i = 0; i < lengthof(field_names); i++)
		if (strlen(field_names[i]) == length && strncmp(field_names[i], name, length) == 0)
			return true;
	return false;
}

/* Is what stands in braces a field, and each brace closed? */
static bool
has_fields(const Row *row, const char *words)
{
	while ((words = strpbrk(words, "{}")) != NULL)
	{
		Size		length = strcspn(words + 1, "{}");

		if (words[0] != '{' || words[1 + length] != '}' || !is_field(words + 1, length))
			return false;
		words += length + 2;
	}
	return true;
}

static bool
ends_with(const char *words, const char *end)
{
	return strlen(words) >= strlen(end) &&
		strcmp(words + strlen(words) - strlen(end), end) == 0;
}

/* Does it end as a sentence does, or with fields that are sentences, or a statement? */
static bool
has_end(const Row *row, const char *words)
{
	static const char *const ends[] = {
		".", "{bound}", "{help}", "{list}", "{next}", "{reason}", "{what}", ": {query}"
	};

	if (row->is_phrase)
		return !ends_with(words, ".");
	for (int i = 0; i < lengthof(ends); i++)
		if (ends_with(words, ends[i]))
			return true;
	return false;
}

/* Is each of its sentences short enough? */
static bool
is_short(const Row *row, const char *words)
{
	int			count = 1;

	for (const char *at = words; *at != '\0'; at++)
	{
		if (*at == ' ')
			count++;
		if (count > MOST_WORDS)
			return false;
		if (strncmp(at, ". ", 2) == 0)
			count = 0;
	}
	return true;
}

/* Is nothing doubled or left over? */
static bool
is_clean(const Row *row, const char *words)
{
	return strstr(words, "  ") == NULL && words[0] != ' ' && !ends_with(words, " ") &&
		strstr(words, "..") == strstr(words, "...") && strchr(words, '\n') == NULL;
}

/* Two numbers have two forms, of what lives, and of what is gone where that has words. */
static bool
has_forms(const Row *row)
{
	if (!row->is_plural)
		return row->many[0] == NULL && row->many[1] == NULL;
	return row->many[0] != NULL && strcmp(row->words[0], row->many[0]) != 0 &&
		(row->words[1] == NULL) == (row->many[1] == NULL) &&
		(row->words[1] == NULL || strcmp(row->words[1], row->many[1]) != 0);
}

static void
test_rows(void)
{
	int			wrong = 0;

	ok(count_failures(has_fields) == 0, "what stands in braces is a field");
	ok(count_failures(has_end) == 0, "sentences end, and phrases do not");
	ok(count_failures(is_short) == 0, "no sentence has more than 60 words");
	ok(count_failures(is_clean) == 0, "no blank or full stop is doubled or left over");
	for (int i = 0; i < PLH_SENTENCES; i++)
	{
		wrong += !has_forms(&rows[i]);
		wrong += strcmp(plh_sentences_name(i), rows[i].name) != 0;
	}
	ok(wrong == 0, "what depends on a number has a form for one, and one for several");
}

/* Say a row with all fields, the text of each being its name. */
static const char *
say(PlhSentence sentence, bool alive, int64 count)
{
	PlhFields	fields = {
#define SET_TEXT(name) .name = #name,
#define SET_NUMBER(name) .name = 7,
		PLH_EACH_TEXT(SET_TEXT)
		PLH_EACH_NUMBER(SET_NUMBER)
	};

	fields.count = count;
	return plh_sentences_phrase(sentence, alive, &fields);
}

/* The words that are to be said. */
static const char *
words_of(const Row *row, bool alive, bool many)
{
	const char *const *words = many && row->is_plural ? row->many : row->words;

	return !alive && words[1] != NULL ? words[1] : words[0];
}

/* Is a row said by its words, in which fields stand in place of braces? */
static bool
is_said(int number, bool alive, int64 count)
{
	const char *said = say(number, alive, count);
	const char *words = words_of(&rows[number], alive, count != 1);

	for (; *words != '\0' && *words == *said; words++)
		said++;
	if (*words == '{')
		return strchr(said, '{') == NULL && strchr(said, '}') == NULL;
	return *words == '\0' && *said == '\0';
}

static void
test_saying(void)
{
	PlhSaid		said;
	int			wrong = 0;

	for (int i = 0; i < PLH_SENTENCES; i++)
		wrong += !is_said(i, true, 1) + !is_said(i, true, 2) + !is_said(i, true, 0) +
			!is_said(i, false, 1) + !is_said(i, false, 2);
	ok(wrong == 0, "each sentence is said in its tense and number, with its fields");
	plh_sentences_begin(&said);
	ok(plh_sentences_first(&said) == NULL && plh_sentences_first_name(&said) == NULL, "at first nothing is said");
	PLH_SAY(&said, true, recycle_session,.pid = 42);
	ok(strstr(said.text.data, "SELECT pg_terminate_backend(42).") != NULL && said.first_end == said.text.len,
	   "a number is said as it is");
	PLH_SAY(&said, true, server_more,.count = 1);
	ok(strcmp(said.text.data + said.first_end, " 1 more cause is in pg_leakhunt_suspects.") == 0,
	   "a sentence begins behind a blank, and where the first one ends is known");
	PLH_LINE(&said, true, start_it,.pid = 42);
	ok(strstr(said.text.data, "\nSELECT") != NULL && list_length(said.begins) == 2 &&
	   strcmp(plh_sentences_first_name(&said), "recycle_session") == 0,
	   "but for one at the beginning of a line, which is noted");
}

/* Are there words for it, as a table of a document, the page and the log have them? */
static bool
has_words(PlhVerdict verdict)
{
	const PlhVerdictWords *words = plh_verdict_words_of(verdict);

	return words != NULL && words->meaning[0] != '\0' && words->todo[0] != '\0' &&
		(strcmp(words->tone, "bad") == 0 || strcmp(words->tone, "soft") == 0);
}

static bool
has_kind_words(PlhKind kind)
{
	const PlhKindWords *words = plh_verdict_words_of_kind(kind);

	return words != NULL && ends_with(words->answer, ".") &&
		rows[words->cause].is_phrase && rows[words->headline].is_phrase &&
		strncmp(rows[words->cause].name, "cause_", 6) == 0 &&
		strncmp(rows[words->headline].name, "log_", 4) == 0;
}

static void
test_verdict_words(void)
{
	int			wrong = 0;

	for (PlhVerdict verdict = PLH_VERDICT_NONE + 1; verdict < PLH_VERDICTS; verdict++)
		wrong += !has_words(verdict);
	ok(wrong == 0 && plh_verdict_words_of(PLH_VERDICT_NONE) == NULL, "each verdict has its words");
	for (PlhKind kind = 0; kind < PLH_KINDS; kind++)
		wrong += !has_kind_words(kind) || plh_verdict_of(kind) == PLH_VERDICT_NONE;
	ok(wrong == 0 && plh_verdict_words_of_kind(PLH_KINDS) == NULL, "each kind of finding has its words");
}

void
test_sentences(void)
{
	test_rows();
	test_saying();
	test_verdict_words();
}
