/*
 * page_statements.c
 *	  The largest statements of a page of the server.
 */
#include "postgres.h"

#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "report/json.h"
#include "page/page_statements.h"
#include "reader/database_text.h"
#include "reader/redaction.h"
#include "report/stack_text.h"

/* A page has at most this many. */
#define MOST_STATEMENTS 200

/* list_sort comparator: the highest peak first. */
static int
compare_peaks(const ListCell *a, const ListCell *b)
{
	const PlhListedStatement *left = lfirst(a);
	const PlhListedStatement *right = lfirst(b);

	return left->entry.max_peak_bytes > right->entry.max_peak_bytes ? -1 :
		left->entry.max_peak_bytes < right->entry.max_peak_bytes;
}

/* A text of an entry; NULL where it is empty. */
static const char *
entry_text(const PlhStatementEntry *entry, const char *text, Size bytes)
{
	return bytes == 0 ? NULL : plh_database_text_fit_foreign(text, bytes, entry->encoding);
}

/* What held most at the highest peak. */
static void
append_top(StringInfo json, const PlhListedStatement *listed,
		   const PlhProfileImage *image, PlhStackTexts *texts)
{
	const PlhStackRecord *record = plh_profile_image_stack(image, listed->stack);
	PlhStackText stack;

	if (record == NULL)
		return;
	plh_stack_text_describe(texts, record, &stack);
	plh_json_put_text(json, "site", stack.site);
	plh_json_put_text(json, "routine", plh_stack_text_routine(&stack));
}

static void
append_statement(StringInfo json, const PlhListedStatement *listed,
				 const PlhProfileImage *image, PlhStackTexts *texts)
{
	const PlhStatementEntry *entry = &listed->entry;

	plh_json_open(json, '{');
	plh_json_key(json, "query_id");
	if (entry->query_id == 0)
		plh_json_null(json);
	else
		plh_json_id(json, (int64) entry->query_id);
	plh_json_put_text(json, "query", plh_redaction_statement(entry_text(entry, entry->text,
																		entry->text_bytes)));
	plh_json_put_text(json, "database",
					  plh_redaction_database(get_database_name(entry->database_oid)));
	plh_json_put_text(json, "username",
					  plh_redaction_role(GetUserNameFromId(entry->role_oid, true)));
	plh_json_put_number(json, "calls", entry->calls);
	plh_json_put_number(json, "mean_peak_bytes", entry->peak_sum / entry->calls);
	plh_json_put_number(json, "max_peak_bytes", entry->max_peak_bytes);
	plh_json_put_number(json, "error_bytes", entry->error_bytes);
	plh_json_put_time(json, "max_at", entry->max_at);
	plh_json_put_number(json, "allowed_bytes", entry->allowed_bytes);
	plh_json_put_number(json, "calls_beyond", entry->calls_beyond);
	plh_json_put_number(json, "kept_bytes", Max(entry->kept_bytes, 0));
	plh_json_put_text(json, "context_name", entry_text(entry, entry->context_name,
													   strlen(entry->context_name)));
	append_top(json, listed, image, texts);
	plh_json_close(json, '}');
}

void
plh_page_statements_append(StringInfo json, const PlhStatementList *list, PlhSymbols *symbols)
{
	PlhStackTexts *texts = plh_stack_text_open(symbols, list->image);
	int			count = 0;
	ListCell   *cell;

	list_sort(list->statements, compare_peaks);
	plh_json_open(json, '[');
	foreach(cell, list->statements)
	{
		CHECK_FOR_INTERRUPTS();
		if (count++ == MOST_STATEMENTS)
			break;
		append_statement(json, lfirst(cell), list->image, texts);
	}
	plh_json_close(json, ']');
}
