/*
 * sentences.h
 *	  Says what is in the table of sentences, with figures and names in it.
 *
 * sentence_table.h has the words.  A text belongs to the current memory context.  Never called
 * inside palloc.
 */
#pragma once

#include "lib/stringinfo.h"
#include "nodes/pg_list.h"

/* The sentences and phrases, by their ids in the table. */
typedef enum PlhSentence
{
#define SECTION(title)
#define SENTENCE(id, when, alive, gone) PLH_SAYS_##id,
#define PHRASE(id, when, alive, gone) PLH_SAYS_##id,
#define PLURAL(id, when, alive, alive_many, gone, gone_many) PLH_SAYS_##id,
#include "telling/sentence_table.h"
#undef SECTION
#undef SENTENCE
#undef PHRASE
#undef PLURAL
	PLH_SENTENCES				/* how many there are */
} PlhSentence;

/* The fields of sentences: texts, and numbers. */
#define PLH_EACH_TEXT(FIELD) \
	FIELD(age) FIELD(ago) FIELD(bound) FIELD(bytes) FIELD(cause) FIELD(context) \
	FIELD(contexts) FIELD(each) FIELD(early) FIELD(freed) FIELD(growth) FIELD(help) \
	FIELD(high) FIELD(interval) FIELD(language) FIELD(late) FIELD(library) FIELD(limit) \
	FIELD(linked) FIELD(list) FIELD(loaded) FIELD(low) FIELD(most) FIELD(name) FIELD(next) \
	FIELD(noun) FIELD(other) FIELD(outside) FIELD(percent) FIELD(query) FIELD(rate) \
	FIELD(reason) FIELD(rest) FIELD(routines) FIELD(since) FIELD(site) FIELD(span) \
	FIELD(store) FIELD(title) FIELD(total) FIELD(verdict) FIELD(what) FIELD(who)
#define PLH_EACH_NUMBER(FIELD) \
	FIELD(advisory) FIELD(count) FIELD(early_count) FIELD(least) FIELD(pid) FIELD(relations) \
	FIELD(statements) FIELD(workers)

typedef struct PlhFields
{
#define PLH_TEXT_FIELD(name) const char *name;
	PLH_EACH_TEXT(PLH_TEXT_FIELD)
#undef PLH_TEXT_FIELD
#define PLH_NUMBER_FIELD(name) int64 name;
	PLH_EACH_NUMBER(PLH_NUMBER_FIELD)
#undef PLH_NUMBER_FIELD
} PlhFields;

/* Fields for a call: PLH_FIELDS(.age = "5 s"). */
#define PLH_FIELDS(...) (&(const PlhFields) {__VA_ARGS__})

/* A sentence that was said, with its fields, for programs: long texts are left out. */
typedef struct PlhSaidSentence
{
	PlhSentence sentence;
	List	   *fields;			/* of PlhSaidField */
} PlhSaidSentence;

typedef struct PlhSaidField
{
	const char *name;
	const char *value;
} PlhSaidField;

/* What is said, in lines.  Terminals wrap these at their own width. */
typedef struct PlhSaid
{
	StringInfoData text;
	Size		first_end;		/* where the first sentence ends */
	List	   *all;			/* of PlhSaidSentence */
	List	   *begins;			/* of each line, its first sentence */
	List	   *starts;			/* of each line, where it begins; a name may
								 * have line breaks, too */
} PlhSaid;

extern void plh_sentences_begin(PlhSaid *said);

/* Say a sentence, behind a blank where another one is in its line. */
extern void plh_sentences_say(PlhSaid *said, PlhSentence sentence, bool alive,
							  const PlhFields *fields);

/* Say it in a new line; others follow by plh_sentences_say. */
extern void plh_sentences_line(PlhSaid *said, PlhSentence sentence, bool alive,
							   const PlhFields *fields);

/* A phrase, or a sentence by itself. */
extern char *plh_sentences_phrase(PlhSentence sentence, bool alive, const PlhFields *fields);

/* The name of a sentence, by which programs know it. */
extern const char *plh_sentences_name(PlhSentence sentence);

/* The first sentence that was said, and its name; NULL where none was. */
extern char *plh_sentences_first(const PlhSaid *said);
extern const char *plh_sentences_first_name(const PlhSaid *said);

/* The same with fields that are named: PLH_SAY(said, alive, rests, .age = "5 s"). */
#define PLH_SAY(said, alive, id, ...) \
	plh_sentences_say(said, PLH_SAYS_##id, alive, PLH_FIELDS(__VA_ARGS__))
#define PLH_LINE(said, alive, id, ...) \
	plh_sentences_line(said, PLH_SAYS_##id, alive, PLH_FIELDS(__VA_ARGS__))
#define PLH_PHRASE(alive, id, ...) \
	plh_sentences_phrase(PLH_SAYS_##id, alive, PLH_FIELDS(__VA_ARGS__))
