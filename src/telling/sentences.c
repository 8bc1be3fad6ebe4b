/*
 * sentences.c
 *	  Says what is in the table of sentences, with figures and names in it.
 */
#include "postgres.h"

#include "telling/sentences.h"

/* One row of the table. */
typedef struct Row
{
	const char *name;
	const char *alive;
	const char *alive_many;		/* NULL: it depends on no number */
	const char *gone;			/* NULL: the same as of what lives */
	const char *gone_many;
} Row;

static const Row rows[PLH_SENTENCES] = {
#define SECTION(title)
#define SENTENCE(id, when, alive, gone) {#id, alive, NULL, gone, NULL},
#define PHRASE(id, when, alive, gone) {#id, alive, NULL, gone, NULL},
#define PLURAL(id, when, alive, alive_many, gone, gone_many) \
	{#id, alive, alive_many, gone, gone_many},
#include "telling/sentence_table.h"
};

/* A field: where it is, and whether it is a number. */
typedef struct Field
{
	const char *name;
	Size		offset;
	bool		is_number;
} Field;

static const Field fields_by_name[] = {
#define TEXT_FIELD(name) {#name, offsetof(PlhFields, name), false},
	PLH_EACH_TEXT(TEXT_FIELD)
#define NUMBER_FIELD(name) {#name, offsetof(PlhFields, name), true},
	PLH_EACH_NUMBER(NUMBER_FIELD)
};

static const Field *
find_field(const char *name, Size length)
{
	for (int i = 0; i < lengthof(fields_by_name); i++)
		if (strncmp(fields_by_name[i].name, name, length) == 0 &&
			fields_by_name[i].name[length] == '\0')
			return &fields_by_name[i];
	return NULL;
}

/* Texts from this length on are no figures, nor phrases with one. */
#define LONG_TEXT 80

static void
note_field(PlhSaidSentence *said, const Field *field, const char *value)
{
	PlhSaidField *noted;

	if (said == NULL || strlen(value) >= LONG_TEXT)
		return;
	noted = palloc(sizeof(PlhSaidField));
	noted->name = field->name;
	noted->value = value;
	said->fields = lappend(said->fields, noted);
}

/*
 * Append the field whose name begins there, in braces, and note it unless "said" is NULL.  Returns
 * what is behind it.
 */
static const char *
append_field(StringInfo text, const char *brace, const PlhFields *fields, PlhSaidSentence *said)
{
	Size		length = strcspn(brace + 1, "}");
	const Field *field = find_field(brace + 1, length);
	const char *value;

	Assert(field != NULL);
	if (field != NULL)
	{
		value = field->is_number ?
			psprintf(INT64_FORMAT, *(const int64 *) ((const char *) fields + field->offset)) :
			*(const char *const *) ((const char *) fields + field->offset);
		Assert(value != NULL);
		value = value != NULL ? value : "?";
		appendStringInfoString(text, value);
		note_field(said, field, value);
	}
	return brace + 1 + length + 1;
}

static const char *
words_of(const Row *row, bool alive, int64 count)
{
	bool		many = row->alive_many != NULL && count != 1;

	if (alive || row->gone == NULL)
		return many ? row->alive_many : row->alive;
	return many ? row->gone_many : row->gone;
}

static void
append_words(StringInfo text, const char *words, const PlhFields *fields,
			 PlhSaidSentence *said)
{
	while (*words != '\0')
	{
		Size		length = strcspn(words, "{");

		appendBinaryStringInfo(text, words, length);
		words += length;
		if (*words == '{')
			words = append_field(text, words, fields, said);
	}
}

void
plh_sentences_begin(PlhSaid *said)
{
	memset(said, 0, sizeof(*said));
	initStringInfo(&said->text);
}

void
plh_sentences_say(PlhSaid *said, PlhSentence sentence, bool alive, const PlhFields *fields)
{
	StringInfo	text = &said->text;
	PlhSaidSentence *noted = palloc0(sizeof(PlhSaidSentence));

	noted->sentence = sentence;
	said->all = lappend(said->all, noted);
	if (text->len > 0 && text->data[text->len - 1] != '\n')
		appendStringInfoChar(text, ' ');
	else
	{
		said->begins = lappend_int(said->begins, sentence);
		said->starts = lappend_int(said->starts, text->len);
	}
	append_words(text, words_of(&rows[sentence], alive, fields->count), fields, noted);
	if (said->first_end == 0)
		said->first_end = text->len;
}

void
plh_sentences_line(PlhSaid *said, PlhSentence sentence, bool alive, const PlhFields *fields)
{
	if (said->text.len > 0)
		appendStringInfoChar(&said->text, '\n');
	plh_sentences_say(said, sentence, alive, fields);
}

char *
plh_sentences_phrase(PlhSentence sentence, bool alive, const PlhFields *fields)
{
	StringInfoData text;

	initStringInfo(&text);
	append_words(&text, words_of(&rows[sentence], alive, fields->count), fields, NULL);
	return text.data;
}

const char *
plh_sentences_name(PlhSentence sentence)
{
	return rows[sentence].name;
}

char *
plh_sentences_first(const PlhSaid *said)
{
	return said->first_end == 0 ? NULL : pnstrdup(said->text.data, said->first_end);
}

const char *
plh_sentences_first_name(const PlhSaid *said)
{
	return said->begins == NIL ? NULL : plh_sentences_name(linitial_int(said->begins));
}
