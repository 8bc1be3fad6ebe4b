/*
 * page_html.c
 *	  A page of HTML that needs nothing else.
 *
 * The page's own policy lets the browser run the script and use the style whose hashes it names,
 * and fetch nothing.  The document is data: it stands in an element <script> of another type, which
 * browsers do not run.
 */
#include "postgres.h"

#include "page/page_html.h"
#include "reader/database_text.h"

#include "page/page_hashes.h"
#include "page/page_script.h"
#include "page/page_skeleton.h"
#include "page/page_style.h"

/* What stands for a mark of the skeleton. */
static void
append_part(StringInfo output, const char *mark, const char *title,
			const char *words, const StringInfoData *json)
{
	if (strcmp(mark, "title") == 0)
		plh_database_text_append_markup(output, title);
	else if (strcmp(mark, "words") == 0)
		plh_database_text_append_markup(output, words);
	else if (strcmp(mark, "policy") == 0)
		appendStringInfoString(output, "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; script-src '" PAGE_SCRIPT_HASH "'; style-src '" PAGE_STYLE_HASH "'");
	else if (strcmp(mark, "style") == 0)
		appendStringInfoString(output, page_style);
	else if (strcmp(mark, "script") == 0)
		appendStringInfoString(output, page_script);
	else if (strcmp(mark, "document") == 0)
		appendBinaryStringInfo(output, json->data, json->len);
	else
		elog(ERROR, "the skeleton of the page has an unknown mark \"%s\"", mark);
}

Size
plh_page_html_room(const char *words)
{
	/* a character of the words may take ten bytes, as a reference */
	return PLH_PAGE_MOST_BYTES - sizeof(page_script) - sizeof(page_style) -
		sizeof(page_skeleton) - Min(10 * strlen(words), PLH_PAGE_MOST_BYTES / 4);
}

void
plh_page_html_append(StringInfo output, const char *title, const char *words,
					 const StringInfoData *json)
{
	const char *at = page_skeleton;
	const char *mark;

	while ((mark = strstr(at, "{{")) != NULL)
	{
		const char *end = strstr(mark, "}}");

		appendBinaryStringInfo(output, at, mark - at);
		append_part(output, pnstrdup(mark + 2, end - mark - 2), title, words, json);
		at = end + 2;
	}
	appendStringInfoString(output, at);
}
