/*
 * page_html.h
 *	  A page of HTML that needs nothing else.
 *
 * Never called inside palloc.
 */
#pragma once

#include "lib/stringinfo.h"

/* The largest page. */
#define PLH_PAGE_MOST_BYTES (2 * 1000 * 1000)

/* How much of it is left for the document, with those words. */
extern Size plh_page_html_room(const char *words);

/*
 * Append a page that shows a document of JSON.  "words" are lines of text: they are what a reader
 * without scripts sees.
 */
extern void plh_page_html_append(StringInfo output, const char *title,
								 const char *words, const StringInfoData *json);
