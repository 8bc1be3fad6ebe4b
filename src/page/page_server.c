/*
 * page_server.c
 *	  What the page of the server says: one document of JSON.
 *
 * Of a process it has the figures of pg_leakhunt_processes, the findings of pg_leakhunt_suspects,
 * and points of pg_leakhunt_history: as many as there is room for.  Of statements it has the
 * largest of pg_leakhunt_statements.
 */
#include "postgres.h"

#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "page/page_server.h"
#include "reader/database_text.h"
#include "reader/redaction.h"
#include "report/death_text.h"
#include "report/json.h"
#include "report/shared_function.h"
#include "report/stack_text.h"
#include "telling/finding_json.h"
#include "telling/forecast_words.h"
#include "telling/memory_account.h"

/* The points of the history of all processes together, and of one at least. */
#define MOST_POINTS 50000
#define LEAST_POINTS 16

/* The most statements. */
#define MOST_STATEMENTS 200

/* A process of the page, as JSON, but for the end of the object. */
typedef struct Row
{
	char	   *facts;
	char	   *sentences;		/* members of the object */
} Row;

struct PlhPageServer
{
	int			points;			/* of each history */
	TimestampTz now;
	MemoryContext memory;
	List	   *processes;		/* of PlhSummarized, with a Row */
	PlhServerAccount *account;	/* NULL: the reader does not see it */
	PlhSaid		words;
};

PlhPageServer *
plh_page_server_begin(int processes, TimestampTz now)
{
	PlhPageServer *server = palloc0(sizeof(PlhPageServer));

	server->points = Max(LEAST_POINTS, Min(PLH_HISTORY_POINTS, MOST_POINTS / Max(processes, 1)));
	server->now = now;
	server->memory = CurrentMemoryContext;
	return server;
}

/* The number of a point of the history, of those that are shown. */
static int
shown_point(int i, int shown, int count)
{
	return shown <= 1 ? count - 1 : (int) ((int64) i * (count - 1) / (shown - 1));
}

/*
 * What the process had as its own over time: milliseconds before now, and kilobytes, of which the
 * kernel counts.
 */
static void
append_history(StringInfo json, const PlhPageServer *server, const PlhProfileHeader *header)
{
	int			count = Min(header->history_count, PLH_HISTORY_POINTS);
	int			shown = Min(count, server->points);

	plh_json_put_open(json, "before", '[');
	for (int i = 0; i < shown; i++)
	{
		const PlhHistoryPoint *point = &header->history[shown_point(i, shown, count)];

		plh_json_number(json, (server->now - point->at) / 1000);
	}
	plh_json_close(json, ']');
	plh_json_put_open(json, "own_kb", '[');
	for (int i = 0; i < shown; i++)
		plh_json_number(json, header->history[shown_point(i, shown, count)].own_bytes / 1024);
	plh_json_close(json, ']');
}

/* What only a profile tells. */
static void
append_profile(StringInfo json, const PlhPageServer *server, const PlhProfileImage *image)
{
	const PlhProfileHeader *header = image->header;

	plh_json_put_text(json, "crash", plh_death_text_crash(image));
	plh_json_put_number(json, "live_bytes", header->counters.live_bytes);
	plh_json_put_number(json, "error_bytes", (int64) plh_profile_image_live_error_bytes(header));
	plh_json_put_if(json, "context_bytes", header->census_at != 0, header->context_bytes);
	plh_json_put_time(json, "started_at", header->started_at);
	append_history(json, server, header);
}

/* The members "sentences" and "sentence_ids" of an object, without its brackets. */
static char *
sentences_of(const PlhSaid *text)
{
	StringInfoData json;

	initStringInfo(&json);
	plh_json_open(&json, '{');
	plh_finding_json_put_text(&json, text);
	return json.data + 1;
}

void
plh_page_server_add(PlhPageServer *server, const PlhExplainedProcess *process,
					const PlhExplanation *explanation)
{
	MemoryContext caller_context = MemoryContextSwitchTo(server->memory);
	PlhSummarized *summarized = plh_server_summary_enter(process, explanation);
	Row		   *row = palloc(sizeof(Row));
	StringInfoData json;

	initStringInfo(&json);
	plh_json_open(&json, '{');
	plh_json_put_number(&json, "pid", process->pid);
	plh_json_put_text(&json, "backend_type", process->backend_type);
	plh_json_put_text(&json, "username", process->username);
	plh_json_put_text(&json, "database", process->database);
	plh_json_put_text(&json, "application_name", process->application_name);
	plh_json_put_text(&json, "state", process->state);
	plh_json_put_if(&json, "own_bytes", explanation->own_bytes >= 0, explanation->own_bytes);
	if (process->image != NULL)
		append_profile(&json, server, process->image);
	plh_finding_json_put_all(&json, explanation->told);
	plh_finding_json_put_doubt(&json, explanation->doubt);
	row->facts = json.data;
	row->sentences = sentences_of(&explanation->text);
	summarized->row = row;
	server->processes = lappend(server->processes, summarized);
	MemoryContextSwitchTo(caller_context);
}

/* list_sort comparator: the largest process first. */
static int
compare_bytes(const ListCell *a, const ListCell *b)
{
	const PlhSummarized *left = lfirst(a);
	const PlhSummarized *right = lfirst(b);

	return left->bytes != right->bytes ?
		(left->bytes < right->bytes ? 1 : -1) : left->pid - right->pid;
}

const char *
plh_page_server_words(PlhPageServer *server, PlhServerAccount *account)
{
	server->account = account;
	list_sort(server->processes, compare_bytes);
	plh_server_summary_make(&server->words, server->processes, account);
	return server->words.text.data;
}

/*
 * The bytes of sentences that fit beside all else go to processes with findings first, then to the
 * largest of those that the summary lists.
 */
static void
choose_sentences(const PlhPageServer *server, Size room)
{
	for (int with_findings = 1; with_findings >= 0; with_findings--)
	{
		ListCell   *cell;

		foreach(cell, server->processes)
		{
			const PlhSummarized *process = lfirst(cell);
			Row		   *row = process->row;

			if ((process->findings != NIL) != with_findings)
				continue;
			if (process->is_listed && strlen(row->sentences) <= room)
				room -= strlen(row->sentences);
			else
				row->sentences = NULL;
		}
	}
}

static void
append_processes(StringInfo json, const PlhPageServer *server, Size most_bytes)
{
	Size		facts_bytes = 0;
	ListCell   *cell;

	foreach(cell, server->processes)
		facts_bytes += strlen(((Row *) ((PlhSummarized *) lfirst(cell))->row)->facts) + 20;
	choose_sentences(server, most_bytes - Min(most_bytes, json->len + facts_bytes));
	plh_json_put_open(json, "processes", '[');
	foreach(cell, server->processes)
	{
		const Row  *row = ((PlhSummarized *) lfirst(cell))->row;

		if (json->data[json->len - 1] != '[')
			appendStringInfoChar(json, ',');
		appendStringInfoString(json, row->facts);
		appendStringInfo(json, ",%s", row->sentences == NULL ? "\"sentences\":[],\"sentence_ids\":[]" :
						 row->sentences);
		plh_json_close(json, '}');
	}
	plh_json_close(json, ']');
}

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

static void
append_statement(StringInfo json, const PlhListedStatement *listed,
				 const PlhProfileImage *image, PlhStackTexts *texts)
{
	const PlhStatementEntry *entry = &listed->entry;
	const PlhStackRecord *record = plh_profile_image_stack(image, listed->stack);
	PlhStackText stack;
	const char *shared_frame;
	int			shared_percent;

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
	plh_json_put_number(json, "kept_bytes", listed->kept_bytes);
	plh_json_put_text(json, "context_name", entry_text(entry, entry->context_name,
													   strlen(entry->context_name)));
	if (record != NULL)
	{
		/* what held most at the highest peak */
		plh_stack_text_describe(texts, record, &stack);
		plh_json_put_text(json, "site", stack.site);
		plh_json_put_text(json, "routine", plh_stack_text_routine(&stack));
	}
	shared_frame = plh_shared_function_of_statement(listed, image, texts, &shared_percent);
	if (shared_frame != NULL)
	{
		plh_json_put_text(json, "shared_frame", shared_frame);
		plh_json_put_number(json, "shared_percent", shared_percent);
	}
	plh_json_close(json, '}');
}

/* As in pg_leakhunt_statements, the highest peak first. */
static void
append_statements(StringInfo json, const PlhStatementList *list, PlhSymbols *symbols)
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

void
plh_page_server_append(StringInfo json, PlhPageServer *server,
					   const PlhStatementList *statements, PlhSymbols *symbols,
					   Size most_bytes)
{
	plh_json_open(json, '{');
	plh_json_put_text(json, "kind", "server");
	plh_json_put_flag(json, "redacted", plh_redaction_is_on());
	plh_json_put_number(json, "pg_version", PG_VERSION_NUM);
	plh_json_put_zone(json, server->now);
	plh_json_put_time(json, "at", server->now);
	if (server->account != NULL)
	{
		plh_memory_account_put(json, server->account);
		plh_forecast_words_put(json);
	}
	plh_finding_json_put_text(json, &server->words);
	plh_finding_json_put_verdicts(json);
	plh_json_key(json, "statements");
	append_statements(json, statements, symbols);
	append_processes(json, server, most_bytes);
	plh_json_close(json, '}');
}
