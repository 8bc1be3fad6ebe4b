/*
 * census_portals.c
 *	  Which portals, such as cursors, hold what statements have: found by a census.
 *
 * This code runs inside palloc.
 *
 * A portal's contexts lie below one of its own, so that a census meets them one after the other.
 * What the portal is says the server's table of portals, in which it is looked up by its name, as
 * its context has it.  That is done at the end, for the few that have most.  A portal that is being
 * dropped is not in the table any more, and nothing of it is read.  One that has failed stays there
 * until its transaction is rolled back, but the text of its statement went with its message.
 *
 * The plan of a portal is read only where it is sure to be there: of a statement that runs, and of
 * one that the executor has not ended.
 */
#include "postgres.h"

#include "executor/execdesc.h"
#include "nodes/parsenodes.h"
#include "utils/memutils.h"
#include "utils/portal.h"

#include "base/fork.h"
#include "base/guard.h"
#include "base/page_layout.h"
#include "base/settings.h"
#include "profile/profile_file.h"
#include "profile/statement_text.h"
#include "sampler/census_portals.h"
#include "sampler/plan_bounds.h"

/* The context of a portal, and the note of one without a name. */
#define PORTAL_CONTEXT "PortalContext"
#define NAMELESS "<unnamed>"

/* What the contexts of a portal have. */
typedef struct CountedPortal
{
	MemoryContext context;		/* that of the portal; NULL: of none */
	int64		bytes;
} CountedPortal;

/* What one census knows. */
typedef struct CensusPortals
{
	CountedPortal met;			/* whose contexts the census is at */
	uint32		count;
	int64		bytes;			/* of all */
	CountedPortal largest[PLH_PORTALS]; /* the largest first */
} CensusPortals;

/* Each census begins it anew. */
static PLH_SURVIVES_FORK CensusPortals state;

void
plh_census_portals_start(void)
{
	memset(&state, 0, sizeof(state));
}

/* All contexts of a portal were met. */
static void
finish(void)
{
	int			place = PLH_PORTALS;

	if (state.met.context == NULL)
		return;
	state.count++;
	state.bytes += state.met.bytes;
	for (; place > 0 && state.largest[place - 1].bytes < state.met.bytes; place--)
		if (place < PLH_PORTALS)
			state.largest[place] = state.largest[place - 1];
	if (place < PLH_PORTALS)
		state.largest[place] = state.met;
	state.met.context = NULL;
}

void
plh_census_portals_count(MemoryContext context, PlhLifetime lifetime, int64 bytes)
{
	if (lifetime != PLH_LIFETIME_QUERY)
		return;

	/* it is a child of the context of all portals */
	if (context->parent->parent == TopMemoryContext)
	{
		finish();
		if (strcmp(context->name, PORTAL_CONTEXT) == 0)
			state.met = (CountedPortal)
		{
			context
		};
	}
	if (state.met.context != NULL)
		state.met.bytes += bytes;
}

/* The portal of that name, unless it has failed; else NULL. */
static Portal
sound_portal(const char *name)
{
	Portal		portal = GetPortalByName(name);

	return portal != NULL && portal->status != PORTAL_FAILED ? portal : NULL;
}

/* The portal of a context; NULL if it is being made or dropped, or has failed. */
static Portal
portal_of(MemoryContext context)
{
	const char *name = context->ident;
	Portal		portal;

	if (name == NULL)
		return NULL;
	portal = sound_portal(strcmp(name, NAMELESS) == 0 ? "" : name);
	return portal != NULL && portal->portalContext == context ? portal : NULL;
}

static void
note_plan(PlhPortal *noted, const PortalData * portal)
{
	PlhPlanBounds bounds = {0};

	if (portal->status == PORTAL_ACTIVE)
		plh_plan_bounds_add_statements(&bounds, portal->stmts);
	else if (portal->queryDesc != NULL)
		plh_plan_bounds_add(&bounds, portal->queryDesc->plannedstmt);
	noted->allowed_bytes = plh_plan_bounds_bytes(&bounds, plh_profile);
	noted->plan_nodes = bounds.nodes;
	noted->plan_workers = bounds.workers;
}

/* Copy a text, as far as there is room for it and a NUL.  Returns its length. */
static uint32
copy(char *to, Size room, const char *text, Size length)
{
	length = Min(length, room - 1);
	memcpy(to, text, length);
	to[length] = '\0';
	return length;
}

static void
note(PlhPortal *noted, const CountedPortal *counted, const PortalData * portal)
{
	char		kept[PLH_STATEMENT_MAX + 1];
	const char *text = portal->sourceText;

	memset(noted, 0, sizeof(*noted));
	noted->bytes = counted->bytes;
	noted->opened_at = portal->creation_time;
	noted->flags = (portal->status == PORTAL_ACTIVE ? PLH_PORTAL_RUNS : 0) |
		((portal->cursorOptions & CURSOR_OPT_HOLD) != 0 ? PLH_PORTAL_HOLDS : 0);
	copy(noted->name, sizeof(noted->name), portal->name, strlen(portal->name));
	if (plh_track_queries && text != NULL)
		noted->text_bytes = copy(noted->text, sizeof(noted->text), kept,
								 plh_statement_text_keep_bare(kept, text,
															  strnlen(text, PLH_STATEMENT_MAX)));
	note_plan(noted, portal);
}

void
plh_census_portals_keep(void)
{
	uint32		noted = 0;
	uint32		running = 0;
	int64		running_bytes = 0;

	Assert(plh_guard_held && CritSectionCount == 0);
	finish();
	for (int i = 0; i < PLH_PORTALS && state.largest[i].context != NULL; i++)
	{
		Portal		portal = portal_of(state.largest[i].context);

		if (portal != NULL)
			note(&plh_profile->portals[noted++], &state.largest[i], portal);
		if (portal == NULL || portal->status == PORTAL_ACTIVE)
		{
			running++;
			running_bytes += state.largest[i].bytes;
		}
	}
	plh_profile->portals_noted = noted;
	plh_profile->portal_count = state.count - running;
	plh_profile->portal_bytes = state.bytes - running_bytes;
}

void
plh_census_portals_settle(void)
{
	uint32		kept = 0;

	for (uint32 i = 0; i < plh_profile->portals_noted; i++)
	{
		PlhPortal  *noted = &plh_profile->portals[i];
		bool		ran = (noted->flags & PLH_PORTAL_RUNS) != 0;
		Portal		portal = ran ? sound_portal(noted->name) : NULL;

		if (ran && (portal == NULL || portal->status == PORTAL_ACTIVE))
			continue;
		if (ran)
		{
			noted->flags &= ~PLH_PORTAL_RUNS;
			plh_profile->portal_count++;
			plh_profile->portal_bytes += noted->bytes;
		}
		plh_profile->portals[kept++] = *noted;
	}
	plh_profile->portals_noted = kept;
}
