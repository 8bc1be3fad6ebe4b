/*
 * doorbell.c
 *	  How others have a process answer, whatever it is doing: idle, waiting or at work.
 *
 * A process that is idle, in a transaction or not, that waits, or that computes without allocating
 * calls none of our hooks.  But it checks for interrupts, and one of those does next to nothing: a
 * message of a parallel worker.  Where there are none, the server resets a memory context that is
 * for these messages, its place, twice: before it reads any, and after.
 *
 * So the bell is a reset callback of that context.  A callback is called once, and one that is
 * registered while callbacks are called would be called over and over.  Hence the bell has a
 * keeper, an empty context within the place: whenever the place is reset, the keeper is deleted
 * first, and its callback registers that of the place, which is called next, answers, and makes a
 * new keeper.
 *
 * The place is made at the first message.  A process that never had a parallel worker has none: it
 * pretends that there was a message, and the server makes it at the next check for interrupts; or
 * that is called at once where the process may be idle from then on.
 *
 * But for the functions that hang the bell, none of this runs inside palloc.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "nodes/memnodes.h"
#include "storage/proc.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "base/fork.h"
#include "sampler/doorbell.h"

/*
 * Inside palloc no more contexts than these are looked at for the place.  The youngest is first,
 * and the place is mostly young when it is looked for.
 */
#define PLACES_LOOKED_AT 256

static PLH_SET_AT_LOAD void (*answer) (void);

static void place_reset(void *arg);
static void keeper_deleted(void *arg);

/*
 * A child that is forked has its contexts as its parent had them, callbacks included.  What would
 * be hung in it once more would be called without end.
 */
static PLH_SURVIVES_FORK MemoryContext place;	/* NULL: not found yet */
static PLH_SURVIVES_FORK bool is_hung;
static PLH_SURVIVES_FORK MemoryContextCallback place_callback = {place_reset};
static PLH_SURVIVES_FORK MemoryContextCallback keeper_callback = {keeper_deleted};

/* This may throw, as each check for interrupts. */
static void
place_reset(void *arg)
{
	MemoryContext keeper;

	is_hung = false;
	answer();
	keeper = AllocSetContextCreate(place, "pg_leakhunt doorbell", ALLOCSET_SMALL_SIZES);
	MemoryContextRegisterResetCallback(keeper, &keeper_callback);
	is_hung = true;
}

static void
keeper_deleted(void *arg)
{
	MemoryContextRegisterResetCallback(place, &place_callback);
}

/* Look for the place among so many contexts.  Returns false if it is none of them. */
static bool
find_place(int most)
{
	place = TopMemoryContext->firstchild;
	for (int count = 1; place != NULL && strcmp(place->name, PLH_MESSAGES_CONTEXT) != 0; count++)
		place = count < most ? place->nextchild : NULL;
	return place != NULL;
}

/* Hang the bell in the place, which was found. */
static void
hang(void)
{
	MemoryContextRegisterResetCallback(place, &place_callback);
	is_hung = true;
}

/* Only processes that check for interrupts as sessions do can hear it. */
static bool
can_hear(void)
{
	return IsUnderPostmaster && MyProc != NULL && answer != NULL;
}

void
plh_doorbell_hang(void)
{
	if (is_hung || !can_hear())
		return;
	if (find_place(PLACES_LOOKED_AT))
		hang();
	else
	{
		ParallelMessagePending = true;
		InterruptPending = true;
	}
}

void
plh_doorbell_hang_at_once(void)
{
	if (is_hung || !can_hear() || ParallelContextActive())
		return;
	if (!find_place(PG_INT32_MAX))
	{
		PLH_READ_MESSAGES();
		(void) find_place(PLACES_LOOKED_AT);
	}
	if (place != NULL)
		hang();
}

void
plh_doorbell_start(void (*function) (void))
{
	answer = function;
}
