/*
 * told_text.c
 *	  The text of an explanation: lines of sentences, and which each line begins with.
 */
#include "postgres.h"

#include "report/words.h"
#include "telling/told_text.h"

void
plh_told_text_begin(PlhToldText *text)
{
	initStringInfo(&text->text);
	text->begins = NIL;
}

void
plh_told_text_line(PlhToldText *text, PlhSentence sentence, bool alive, const PlhFields *fields)
{
	if (text->text.len > 0)
		appendStringInfoChar(&text->text, '\n');
	text->begins = lappend_int(text->begins, sentence);
	plh_sentences_say(&text->text, sentence, alive, fields);
}

const char *
plh_told_text_ago(const PlhExplainedProcess *process, TimestampTz at)
{
	const PlhProfileImage *image = process->image;
	PlhSentence sentence = PLH_SAYS_ago;

	if (!image->alive && !image->crashed)
		sentence = PLH_SAYS_before_dump;
	else if (!image->alive && image->header->death.at == 0)
		sentence = PLH_SAYS_before_silence;
	return plh_sentences_phrase(sentence, image->alive,
								PLH_FIELDS(.age = plh_words_duration(at, process->now)));
}
