/*
 * scenario_portals.c
 *	  The portals of a scenario's process: cursors that are open, and statements that run.
 */
#include "postgres.h"

#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"
#include "nodes/plannodes.h"
#include "utils/portal.h"

#include "scenario_portals.h"
#include "scenario_process.h"
#include "simulated.h"

#define MAX_PORTALS 4096

static PortalData * portals[MAX_PORTALS];
static int	portal_count;

Portal
GetPortalByName(const char *name)
{
	for (int i = portal_count; i > 0; i--)
		if (strcmp(portals[i - 1]->name, name) == 0)
			return portals[i - 1];
	return NULL;
}

/* A portal of the statement that runs.  Its name belongs to it from now on. */
static PortalData *
open_portal(Words *words, char *name)
{
	PortalData *portal;

	scenario_process_begin();
	if (portal_count == MAX_PORTALS)
		words_fail(words, "there are too many portals");
	portal = portals[portal_count++] = calloc(1, sizeof(PortalData));
	portal->name = name;
	portal->portalContext = context_create("PortalContext", tree.portal);
	portal->portalContext->ident = name[0] == '\0' ? "<unnamed>" : name;
	portal->sourceText = strdup(scenario_process.query.text == NULL ? "" :
								scenario_process.query.text);
	portal->creation_time = simulated_time();
	portal->status = PORTAL_READY;
	return portal;
}

/* cursor NAME [with hold]; "" is the client's own statement */
static void
cursor(Words *words)
{
	PortalData *portal = open_portal(words, strdup(words_next(words)));

	if (words_take(words, "with"))
	{
		words_expect(words, "hold");
		portal->cursorOptions = CURSOR_OPT_HOLD;
	}
}

/* running portal */
static void
running(Words *words)
{
	words_expect(words, "portal");
	open_portal(words, strdup(""))->status = PORTAL_ACTIVE;
}

/* A node above another one. */
static Plan *
above(NodeTag tag, Size size, Plan *below)
{
	Plan	   *plan = calloc(1, size);

	plan->type = tag;
	plan->lefttree = below;
	return plan;
}

static List *
list_of(PlannedStmt *statement)
{
	List	   *list = calloc(1, sizeof(List));
	ListCell   *cell = calloc(1, sizeof(ListCell));

	cell->ptr_value = statement;
	list->type = T_List;
	list->length = 1;
	list->elements = cell;
	return list;
}

/* plan N sorts, N hashes, N workers: of the last portal */
static void
plan(Words *words)
{
	int			sorts = (int) words_number(words);
	int			hashes;
	int			workers;
	Plan	   *top = NULL;
	PlannedStmt *statement = calloc(1, sizeof(PlannedStmt));
	QueryDesc  *query = calloc(1, sizeof(QueryDesc));

	words_expect(words, "sorts");
	hashes = (int) words_number(words);
	words_expect(words, "hashes");
	workers = (int) words_number(words);
	words_expect(words, "workers");
	if (portal_count == 0)
		words_fail(words, "there is no portal");
	while (sorts-- > 0)
		top = above(T_Sort, sizeof(Sort), top);
	while (hashes-- > 0)
		top = above(T_Hash, sizeof(Hash), top);
	if (workers > 0)
	{
		top = above(T_Gather, sizeof(Gather), top);
		((Gather *) top)->num_workers = workers;
	}
	statement->type = T_PlannedStmt;
	statement->planTree = top;
	query->plannedstmt = statement;
	portals[portal_count - 1]->queryDesc = query;
	portals[portal_count - 1]->stmts = list_of(statement);
}

/* The number of the portal that is named next. */
static int
named_portal(Words *words)
{
	const char *name = words_next(words);

	for (int i = 0; i < portal_count; i++)
		if (strcmp(portals[i]->name, name) == 0)
			return i;
	words_fail(words, "there is no cursor \"%s\"", name);
}

/* close NAME */
static void
close_cursor(Words *words)
{
	int			number = named_portal(words);

	context_delete(portals[number]->portalContext);
	free(portals[number]);
	portals[number] = portals[--portal_count];
}

/* fail NAME: it stays, but the text of its statement goes with the message */
static void
fail(Words *words)
{
	PortalData *portal = portals[named_portal(words)];

	portal->status = PORTAL_FAILED;
	free((char *) portal->sourceText);
}

void
scenario_portals_end(void)
{
	for (int i = 0; i < portal_count; i++)
		context_delete(portals[i]->portalContext);
	scenario_portals_forget();
}

void
scenario_portals_forget(void)
{
	for (int i = 0; i < portal_count; i++)
		free(portals[i]);
	portal_count = 0;
}

bool
scenario_portals_do(const char *name, Words *words)
{
	static const struct
	{
		const char *name;
		void		(*run) (Words *words);
	}			commands[] = {
		{"cursor", cursor}, {"running", running}, {"plan", plan}, {"close", close_cursor},
		{"fail", fail}
	};

	for (int i = 0; i < lengthof(commands); i++)
	{
		if (strcmp(commands[i].name, name) != 0)
			continue;
		commands[i].run(words);
		return true;
	}
	return false;
}
