/*
 * page_contexts.c
 *	  What a page says of the memory contexts of a process: the rows of pg_leakhunt_contexts.
 */
#include "postgres.h"

#include "page/page_contexts.h"
#include "report/context_list.h"
#include "report/json.h"

/* The most characters of an example of contexts. */
#define EXAMPLE_COLUMNS 200

/* The most rows of contexts; no process has as many names of them by itself. */
#define MOST_CONTEXTS 1000

static void
append_examples(StringInfo json, const PlhProfileImage *image, const PlhContextRecord *record)
{
	char	   *texts[PLH_EXAMPLES];
	int			count = plh_context_list_examples(record, image, EXAMPLE_COLUMNS, texts);

	plh_json_open(json, '[');
	for (int i = 0; i < count; i++)
		plh_json_text(json, texts[i]);
	plh_json_close(json, ']');
}

static void
append_row(StringInfo json, const PlhListedContext *context, const PlhProfileImage *image,
		   bool has_baseline)
{
	plh_json_open(json, '[');
	plh_json_text(json, plh_context_list_name(image, context->name));
	plh_json_text(json, context->name == 0 ? NULL :
				  plh_profile_image_lifetime_name(context->lifetime));
	plh_json_if(json, context->instances > 0, context->instances);
	plh_json_if(json, context->instances > 0, context->context_bytes);
	plh_json_number(json, context->live_bytes);
	plh_json_number(json, context->live_count);
	plh_json_if(json, has_baseline && context->sites > 0,
				context->live_bytes - context->baseline_bytes);
	plh_json_number(json, context->sites);
	append_examples(json, image, context->record);
	plh_json_close(json, ']');
}

void
plh_page_contexts_append(StringInfo json, const PlhProfileImage *image,
						 const PlhBaseline *baseline)
{
	const PlhContextList *list = plh_context_list_make(image, baseline);

	plh_json_put_number(json, "contexts_left_out", Max(0, list->count - MOST_CONTEXTS));
	plh_json_put_open(json, "contexts", '[');
	for (int i = 0; i < Min(list->count, MOST_CONTEXTS); i++)
		append_row(json, &list->contexts[i], image, baseline != NULL);
	plh_json_close(json, ']');
}
