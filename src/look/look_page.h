/*
 * look_page.h
 *	  What was looked at as a page of HTML that needs nothing else.
 */
#pragma once

#include "lib/stringinfo.h"

#include "look/look_heap.h"
#include "statistics/log_reading.h"

/*
 * A blank line in the text parts its sections.  "heap" is that of the process which the statistics
 * are of; NULL: they are those of a text.
 */
extern void plh_look_page_append(StringInfo page, const char *title, const char *text,
								 const PlhLogReading *reading, const PlhLookHeap *heap);
