/*
 * context_sentence.c
 *	  What memory contexts of a name are of, as a sentence.
 */
#include "postgres.h"

#include "report/context_list.h"
#include "telling/context_sentence.h"

/* The examples in a sentence, and the most characters of each. */
#define TOLD_EXAMPLES 2
#define TOLD_COLUMNS 150

bool
plh_context_sentence_say(PlhSaid *said, const PlhContextRecord *record,
						 const PlhProfileImage *image)
{
	char	   *texts[PLH_EXAMPLES];
	int			count = plh_context_list_examples(record, image, TOLD_COLUMNS, texts);
	StringInfoData list;
	PlhFields	fields = {.list = ""};

	if (count == 0 || plh_profile_image_string(image, record->context_name) == NULL)
		return false;
	initStringInfo(&list);
	for (int i = 0; i < Min(count, TOLD_EXAMPLES); i++)
		appendStringInfo(&list, "%s%s", i > 0 ? "; " : "", texts[i]);
	if (list.data[list.len - 1] == '.') /* a text was cut: the sentence ends
										 * there */
		list.data[--list.len] = '\0';
	fields.list = list.data;
	fields.context = plh_context_list_name(image, record->context_name);
	plh_sentences_say(said, plh_context_list_has_counts(record, image) ?
					  PLH_SAYS_examples : PLH_SAYS_examples_such, true, &fields);
	return true;
}
