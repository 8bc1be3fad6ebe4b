/*
 * page_server.c
 *	  What the page of the server says: one document of JSON.
 *
 * Of a process it has the figures of pg_leakhunt_processes, the findings of pg_leakhunt_suspects,
 * and points of pg_leakhunt_history: as many as there is room for.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "page/page_server.h"
#include "page/page_statements.h"
#include "page/page_zone.h"
#include "report/death_text.h"
#include "report/json.h"
#include "telling/finding_json.h"
#include "telling/server_summary.h"

/* The points of the history of all processes together, and of one at least. */
#define MOST_POINTS 50000
#define LEAST_POINTS 16

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
	PlhToldText words;
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

	plh_json_key(json, "before");
	plh_json_open(json, '[');
	for (int i = 0; i < shown; i++)
	{
		const PlhHistoryPoint *point = &header->history[shown_point(i, shown, count)];

		plh_json_number(json, (server->now - point->at) / 1000);
	}
	plh_json_close(json, ']');
	plh_json_key(json, "own_kb");
	plh_json_open(json, '[');
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
sentences_of(const PlhToldText *text)
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
plh_page_server_words(PlhPageServer *server, bool sees_all)
{
	list_sort(server->processes, compare_bytes);
	plh_server_summary_make(&server->words, server->processes, sees_all);
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
	plh_json_key(json, "processes");
	plh_json_open(json, '[');
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

void
plh_page_server_append(StringInfo json, PlhPageServer *server,
					   const PlhStatementList *statements, PlhSymbols *symbols,
					   Size most_bytes)
{
	plh_json_open(json, '{');
	plh_json_put_text(json, "kind", "server");
	plh_json_put_number(json, "pg_version", PG_VERSION_NUM);
	plh_page_zone_append(json, server->now);
	plh_json_put_time(json, "at", server->now);
	plh_finding_json_put_text(json, &server->words);
	plh_finding_json_put_verdicts(json);
	plh_json_key(json, "statements");
	plh_page_statements_append(json, statements, symbols);
	append_processes(json, server, most_bytes);
	plh_json_close(json, '}');
}
