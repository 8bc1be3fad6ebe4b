/*
 * told_text.h
 *	  The text of an explanation: lines of sentences, and which each line begins with.
 *
 * Terminals wrap lines at their own width.  Never called inside palloc.
 */
#pragma once

#include "nodes/pg_list.h"

#include "telling/explained_process.h"
#include "telling/sentences.h"

typedef struct PlhToldText
{
	StringInfoData text;
	List	   *begins;			/* of each line, the sentence that it begins
								 * with */
} PlhToldText;

extern void plh_told_text_begin(PlhToldText *text);

/* Begin a line with a sentence; others follow by plh_sentences_say(&text->text, ...). */
extern void plh_told_text_line(PlhToldText *text, PlhSentence sentence, bool alive,
							   const PlhFields *fields);

#define PLH_LINE(told, alive, id, ...) \
	plh_told_text_line(told, PLH_SAYS_##id, alive, PLH_FIELDS(__VA_ARGS__))

/*
 * When something was, from the end of a process that is gone, or from the time when a dump was
 * written.
 */
extern const char *plh_told_text_ago(const PlhExplainedProcess *process, TimestampTz at);
