/*
 * test_census_portals.c
 *	  Which portals a census notes, what it says of them, and what settings allow to plans.
 */
#include "postgres.h"

#include "utils/portal.h"

static Portal find_portal(const char *name);

#define GetPortalByName find_portal
#include "sampler/census_portals.c"
#undef GetPortalByName

#include "profile/profile.h"
#include "unit_tests.h"

#define PORTALS 5
#define KB 1024

/* The server's table: what has no context is not in it. */
static PortalData portals[PORTALS];
static MemoryContextData of_portals[PORTALS];
static MemoryContextData below[PORTALS];

static Portal
find_portal(const char *name)
{
	for (int i = 0; i < PORTALS; i++)
		if (portals[i].portalContext != NULL && strcmp(portals[i].name, name) == 0)
			return &portals[i];
	return NULL;
}

/* A portal with a context of 1 kB, and one below that. */
static void
open_portal(int number, MemoryContext parent, const char *name, int64 bytes)
{
	portals[number] = (PortalData)
	{
		.name = name,.portalContext = &of_portals[number],.status = PORTAL_READY,
			.sourceText = "DECLARE c CURSOR FOR SELECT 'secret', 5",.creation_time = 17
	};
	of_portals[number] = (MemoryContextData)
	{
		.name = "PortalContext",.ident = name[0] == '\0' ? "<unnamed>" : name,.parent = parent,
			.mem_allocated = KB
	};
	below[number] = (MemoryContextData)
	{
		.name = "ExecutorState",.parent = &of_portals[number],.mem_allocated = bytes - KB
	};
}

/* A census that meets them. */
static void
count_portals(void)
{
	plh_census_portals_start();
	for (int i = 0; i < PORTALS; i++)
	{
		plh_census_portals_count(&of_portals[i], PLH_LIFETIME_QUERY, of_portals[i].mem_allocated);
		plh_census_portals_count(&below[i], PLH_LIFETIME_QUERY, below[i].mem_allocated);
		plh_census_portals_count(&below[i], PLH_LIFETIME_SESSION, 1000 * KB);
	}
	plh_guard_held = true;
	plh_census_portals_keep();
	plh_guard_held = false;
}

static bool
is_noted(uint32 place, const char *name, int64 bytes, uint32 flags)
{
	const PlhPortal *noted = &plh_profile->portals[place];

	return place < plh_profile->portals_noted && strcmp(noted->name, name) == 0 &&
		noted->bytes == bytes && noted->flags == flags;
}

static void
test_noted(void)
{
	count_portals();
	ok(plh_profile->portal_count == 5 && plh_profile->portal_bytes == 150 * KB &&
	   plh_profile->portals_noted == 3 && is_noted(0, "e", 50 * KB, 0) &&
	   is_noted(1, "d", 40 * KB, 0) && is_noted(2, "", 30 * KB, 0),
	   "a census adds up portals, and notes the largest");
	ok(plh_profile->portals[0].opened_at == 17 &&
	   strcmp(plh_profile->portals[0].text, "DECLARE c CURSOR FOR SELECT ...") == 0,
	   "what is noted of its statement has no literals");
	plh_track_queries = false;
	count_portals();
	plh_track_queries = true;
	ok(plh_profile->portals[0].text_bytes == 0 && is_noted(0, "e", 50 * KB, 0),
	   "no statement of a portal is noted where that is not wanted");
	portals[4].cursorOptions = CURSOR_OPT_HOLD;
	count_portals();
	ok(is_noted(0, "e", 50 * KB, PLH_PORTAL_HOLDS), "a cursor WITH HOLD is noted as one");
}

static void
test_running(void)
{
	portals[4].cursorOptions = 0;
	portals[4].status = portals[2].status = PORTAL_ACTIVE;
	portals[3].portalContext = NULL;
	count_portals();
	ok(plh_profile->portal_count == 2 && plh_profile->portal_bytes == 30 * KB &&
	   plh_profile->portals_noted == 2 && is_noted(0, "e", 50 * KB, PLH_PORTAL_RUNS) &&
	   is_noted(1, "", 30 * KB, PLH_PORTAL_RUNS),
	   "what runs is not open, and a portal that is being dropped is not noted");
	portals[4].status = PORTAL_READY;
	portals[2].portalContext = NULL;
	plh_census_portals_settle();
	ok(plh_profile->portal_count == 3 && plh_profile->portal_bytes == 80 * KB &&
	   plh_profile->portals_noted == 1 && is_noted(0, "e", 50 * KB, 0),
	   "what ran and is there when the message is over is open then");
}

/* A portal that has failed stays in the table until ROLLBACK, without the text of its message. */
static void
test_failed(void)
{
	portals[4].status = PORTAL_ACTIVE;
	count_portals();
	portals[4].status = PORTAL_FAILED;
	portals[4].sourceText = NULL;
	plh_census_portals_settle();
	ok(plh_profile->portals_noted == 0 && plh_profile->portal_count == 2,
	   "a statement that has failed is no open cursor");
	portals[4].sourceText = "of a message that is over";
	count_portals();
	ok(plh_profile->portals_noted == 0 && plh_profile->portal_count == 2 &&
	   plh_profile->portal_bytes == 30 * KB, "nor is it one at the next count, or its text read");
	portals[4].status = PORTAL_READY;
}

/* A plan of one sort, below two workers. */
static Sort sort = {.plan.type = T_Sort};
static Gather gather = {.plan = {.type = T_Gather,.lefttree = &sort.plan},.num_workers = 2};
static PlannedStmt planned = {.type = T_PlannedStmt,.planTree = &gather.plan};

static void
test_plans(void)
{
	QueryDesc	query = {.plannedstmt = &planned};
	const PlhPortal *noted = &plh_profile->portals[0];

	plh_profile->sort_memory_bytes = 4 * KB;
	plh_profile->node_memory_bytes = 8 * KB;
	portals[4].queryDesc = &query;
	count_portals();
	ok(noted->plan_nodes == 1 && noted->plan_workers == 2 && noted->allowed_bytes == 12 * KB,
	   "what a plan is allowed counts in each process that runs it");
	planned.utilityStmt = (Node *) &sort;
	count_portals();
	ok(noted->plan_nodes == 0 && noted->allowed_bytes == 0, "a utility statement has no plan");
	portals[4].queryDesc = NULL;
	count_portals();
	ok(noted->plan_nodes == 0, "nor has a portal whose executor has ended");
}

/* Nodes of all kinds that hold rows, a chain of them that is too deep, and members. */
static void
test_bounds(void)
{
	Agg			chained = {.plan.type = T_Agg,.aggstrategy = AGG_HASHED};
	ListCell	of_chain = {.ptr_value = &chained};
	List		chain = {.type = T_List,.length = 1,.elements = &of_chain};
	Agg			agg = {.plan.type = T_Agg,.aggstrategy = AGG_MIXED,.chain = &chain};
	IncrementalSort incremental = {.sort.plan = {.type = T_IncrementalSort,.lefttree = &agg.plan}};
	ListCell	cells[2] = {{.ptr_value = &incremental}, {.ptr_value = &sort}};
	List		members = {.type = T_List,.length = 2,.elements = cells};
	Append		append = {.plan.type = T_Append,.appendplans = &members};
	static Material deep[400];
	PlannedStmt statement = {.type = T_PlannedStmt,.planTree = &append.plan};
	PlhPlanBounds bounds = {0};

	plh_plan_bounds_add(&bounds, &statement);
	ok(bounds.sorts == 3 && bounds.hashes == 2 && bounds.nodes == 5 && bounds.workers == 0,
	   "hash tables of grouping sets count, and both sorts of an incremental one");
	for (int i = 0; i < lengthof(deep); i++)
		deep[i].plan = (Plan)
	{
		.type = T_Material,.lefttree = i + 1 < lengthof(deep) ? &deep[i + 1].plan : NULL
	};
	memset(&bounds, 0, sizeof(bounds));
	statement.planTree = &deep[0].plan;
	plh_plan_bounds_add(&bounds, &statement);
	ok(bounds.sorts == 201, "a plan that is very deep is left at some depth");
}

void
test_census_portals(void)
{
	static MemoryContextData top = {.type = T_AllocSetContext,.name = "TopMemoryContext"};
	static MemoryContextData all = {.name = "TopPortalContext",.parent = &top};
	MemoryContext before = TopMemoryContext;

	TopMemoryContext = &top;
	ok(plh_profile_begin(), "a profile for portals begins");
	open_portal(0, &all, "a", 10 * KB);
	open_portal(1, &all, "b", 20 * KB);
	open_portal(2, &all, "", 30 * KB);
	open_portal(3, &all, "d", 40 * KB);
	open_portal(4, &all, "e", 50 * KB);
	test_noted();
	test_running();
	test_failed();
	test_plans();
	test_bounds();
	memset(portals, 0, sizeof(portals));
	plh_profile_forget();
	TopMemoryContext = before;
}
