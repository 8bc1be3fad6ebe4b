/*
 * look_page.h
 *	  An explanation of a text as a page of HTML that needs nothing else.
 */
#pragma once

#include "lib/stringinfo.h"

/* A blank line in the text parts its sections.  The title is a constant. */
extern void plh_look_page_append(StringInfo page, const char *title, const char *text);
