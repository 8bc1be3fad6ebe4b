/*
 * explanation_json.c
 *	  The explanation of a process for programs: figures, findings and sentences.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/json.h"

#include "telling/explanation.h"

/* Append a key, with a comma unless it is the first of its object. */
static void
append_key(StringInfo json, const char *key)
{
	char		last = json->data[json->len - 1];

	appendStringInfo(json, "%s\"%s\": ", last == '{' ? "" : ", ", key);
}

static void
append_text(StringInfo json, const char *key, const char *text)
{
	append_key(json, key);
	if (text == NULL)
		appendStringInfoString(json, "null");
	else
		escape_json(json, text);
}

static void
append_bytes(StringInfo json, const char *key, int64 bytes, bool is_known)
{
	append_key(json, key);
	if (is_known)
		appendStringInfo(json, INT64_FORMAT, bytes);
	else
		appendStringInfoString(json, "null");
}

/* Begin an element of an array. */
static void
begin_element(StringInfo json)
{
	if (json->data[json->len - 1] != '[')
		appendStringInfoString(json, ", ");
	appendStringInfoChar(json, '{');
}

static void
append_findings(StringInfo json, const List *findings)
{
	ListCell   *cell;

	append_key(json, "findings");
	appendStringInfoChar(json, '[');
	foreach(cell, findings)
	{
		const PlhToldFinding *finding = lfirst(cell);

		begin_element(json);
		append_text(json, "verdict", finding->verdict);
		append_bytes(json, "bytes", finding->bytes, true);
		append_bytes(json, "error_bytes", finding->error_bytes, true);
		append_bytes(json, "bytes_per_hour", finding->bytes_per_hour,
					 finding->has_rate);
		append_text(json, "site", finding->site);
		append_text(json, "routine", finding->routine);
		append_text(json, "context_name", finding->context_name);
		append_text(json, "query", finding->query);
		append_text(json, "evidence", finding->evidence);
		append_text(json, "next", finding->next);
		appendStringInfoChar(json, '}');
	}
	appendStringInfoChar(json, ']');
}

static void
append_contexts(StringInfo json, const PlhAccount *account,
				const PlhProfileImage *image)
{
	append_key(json, "contexts");
	appendStringInfoChar(json, '[');
	for (int i = 0; i < account->family_count; i++)
	{
		const PlhFamilyAccount *family = &account->families[i];

		begin_element(json);
		append_text(json, "name", family->family != NULL ?
					family->family->title : plh_account_name(family, image));
		append_bytes(json, "bytes", family->bytes, true);
		append_bytes(json, "instances", family->contexts, true);
		append_key(json, "lasting");
		appendStringInfoString(json, family->lasting ? "true" : "false");
		appendStringInfoChar(json, '}');
	}
	appendStringInfoChar(json, ']');
}

/* What the process is made of, as it last counted itself. */
static void
append_account(StringInfo json, const PlhAccount *account,
			   const PlhProfileImage *image)
{
	bool		counted = account != NULL && account->is_counted;
	bool		knows_malloc = counted && account->knows_malloc;

	append_bytes(json, "context_bytes", counted ? account->context_bytes : 0, counted);
	append_bytes(json, "malloc_bytes_outside",
				 counted ? account->outside_bytes : 0, knows_malloc);
	append_bytes(json, "malloc_free_bytes", counted ? account->freed_bytes : 0,
				 knows_malloc);
	append_bytes(json, "other_bytes", counted ? account->other_bytes : 0, knows_malloc);
	if (counted)
		append_contexts(json, account, image);
}

/* The sentences, as an array. */
static void
append_sentences(StringInfo json, const char *text)
{
	append_key(json, "sentences");
	appendStringInfoChar(json, '[');
	while (*text != '\0')
	{
		size_t		bytes = strcspn(text, "\n");

		if (json->data[json->len - 1] != '[')
			appendStringInfoString(json, ", ");
		escape_json(json, pnstrdup(text, bytes));
		text += bytes + (text[bytes] == '\n');
	}
	appendStringInfoChar(json, ']');
}

/*
 * The object, in the current memory context.
 */
char *
plh_explanation_json(const PlhExplainedProcess *process,
					 const PlhExplanation *explanation)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoChar(&json, '{');
	append_bytes(&json, "pid", process->pid, true);
	append_text(&json, "backend_type", process->backend_type);
	append_text(&json, "username", process->username);
	append_text(&json, "database", process->database);
	append_text(&json, "application_name", process->application_name);
	append_text(&json, "state", process->state);
	append_key(&json, "alive");
	appendStringInfoString(&json, process->image == NULL || process->image->alive ?
						   "true" : "false");
	append_bytes(&json, "private_bytes", explanation->own_bytes,
				 explanation->own_bytes >= 0);
	append_bytes(&json, "shared_bytes", process->rss_shared_bytes,
				 process->rss_anon_bytes >= 0);
	append_account(&json, explanation->account, process->image);
	append_findings(&json, explanation->findings);
	append_sentences(&json, explanation->text);
	appendStringInfoChar(&json, '}');
	return json.data;
}
