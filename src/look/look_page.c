/*
 * look_page.c
 *	  An explanation of a text as a page of HTML that needs nothing else.
 *
 * Names and statements come from a log that anybody may have written: all text is written as
 * characters, and none of it as markup.
 */
#include "postgres.h"

#include "look/look_page.h"
#include "reader/database_text.h"

static const char head[] =
"<!DOCTYPE html>\n"
"<html lang=\"en\">\n"
"<head>\n"
"<meta charset=\"utf-8\">\n"
"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
"<title>pg_leakhunt: %s</title>\n"
"<style>\n"
"body { max-width: 50rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; color-scheme: light dark; overflow-wrap: anywhere }\n"
"section { border-top: 1px solid; margin-top: 1.5rem }\n"
"p { margin: .5rem 0 }\n"
"</style>\n"
"</head>\n"
"<body>\n"
"<h1>%s</h1>\n";

static void
append_paragraph(StringInfo page, const char *line, Size bytes)
{
	appendStringInfoString(page, "<p>");
	plh_database_text_append_markup(page, pnstrdup(line, bytes));
	appendStringInfoString(page, "</p>\n");
}

void
plh_look_page_append(StringInfo page, const char *title, const char *text)
{
	appendStringInfo(page, head, title, title);
	appendStringInfoString(page, "<section>\n");
	while (*text != '\0')
	{
		Size		bytes = strcspn(text, "\n");

		if (bytes == 0)
			appendStringInfoString(page, "</section>\n<section>\n");
		else
			append_paragraph(page, text, bytes);
		text += bytes + (text[bytes] == '\n');
	}
	appendStringInfoString(page, "</section>\n</body>\n</html>");
}
