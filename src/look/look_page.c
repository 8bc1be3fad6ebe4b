/*
 * look_page.c
 *	  What was looked at as a page of HTML that needs nothing else: that of pg_leakhunt_page, with
 *	  the parts that there are.
 *
 * Names and statements come from a log that anybody may have written: the document of a page is
 * data, and its script makes text of it, and never markup.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "look/look_page.h"
#include "page/page_contexts.h"
#include "page/page_html.h"
#include "page/page_proof.h"
#include "report/json.h"
#include "statistics/statistics_sentences.h"

/* The lines of the text, in parts that a blank line ends. */
static void
append_parts(StringInfo json, const char *text)
{
	plh_json_put_open(json, "parts", '[');
	while (*text != '\0')
	{
		plh_json_open(json, '[');
		while (*text != '\0' && *text != '\n')
		{
			Size		bytes = strcspn(text, "\n");

			plh_json_text(json, pnstrdup(text, bytes));
			text += bytes + (text[bytes] == '\n');
		}
		plh_json_close(json, ']');
		text += *text == '\n';
	}
	plh_json_close(json, ']');
}

static const char *
title_of(const PlhStatistics *statistics)
{
	return statistics->pid == 0 ? psprintf("Statistics " INT64_FORMAT, statistics->number) :
		psprintf("Process " INT64_FORMAT ", statistics " INT64_FORMAT, statistics->pid,
				 statistics->number);
}

/* A process: its memory contexts, and what was proven of them, where it was looked at. */
static void
append_process(StringInfo json, const PlhStatistics *statistics, const PlhLookHeap *heap)
{
	PlhCountedProcess counted = plh_statistics_sentences_count(statistics, PG_UTF8);
	PlhProfileImage image = *counted.image;

	image.proof = heap == NULL ? NULL : heap->proof;
	plh_json_open(json, '{');
	plh_json_put_text(json, "title", heap != NULL ? "What the memory is made of" :
					  title_of(statistics));
	plh_page_contexts_append(json, &image, NULL);
	plh_json_put_if(json, "outside_bytes", heap != NULL &&
					heap->malloc == PLH_PROOF_MALLOC_PROVEN, heap == NULL ? 0 : heap->malloc_bytes);
	plh_json_key(json, "proof");
	plh_page_proof_append(json, &image);
	plh_json_close(json, '}');
}

void
plh_look_page_append(StringInfo page, const char *title, const char *text,
					 const PlhLogReading *reading, const PlhLookHeap *heap)
{
	StringInfoData json;

	initStringInfo(&json);
	plh_json_open(&json, '{');
	plh_json_put_text(&json, "kind", "looked");
	append_parts(&json, text);
	plh_json_put_open(&json, "processes", '[');
	for (int i = 0; i < reading->kept; i++)
		append_process(&json, &reading->statistics[i], heap);
	plh_json_close(&json, ']');
	plh_json_close(&json, '}');
	plh_page_html_append(page, title, text, &json);
}
