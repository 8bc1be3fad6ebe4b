/*
 * test_doorbell.c
 *	  That a process hears the bell again and again, by what the server does with the
 *	  context of its parallel workers' messages.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "nodes/memnodes.h"
#include "storage/proc.h"
#include "utils/memutils.h"

#include "base/compat.h"

static MemoryContextData top;
static MemoryContextData messages;
static MemoryContextData keeper;
static bool has_workers;
static int	keepers;			/* that were made */
static int	answers;
static PGPROC proc;

volatile sig_atomic_t InterruptPending;


static bool
active_stub(void)
{
	return has_workers;
}

static MemoryContext
create_stub(MemoryContext parent, const char *name)
{
	memset(&keeper, 0, sizeof(keeper));
	keeper.name = name;
	keeper.parent = parent;
	parent->firstchild = &keeper;
	keepers++;
	return &keeper;
}

static void
register_stub(MemoryContext context, MemoryContextCallback *callback)
{
	callback->next = context->reset_cbs;
	context->reset_cbs = callback;
	context->isReset = false;
}

/* As MemoryContextCallResetCallbacks. */
static void
call_callbacks(MemoryContext context)
{
	MemoryContextCallback *callback;

	while ((callback = context->reset_cbs) != NULL)
	{
		context->reset_cbs = callback->next;
		callback->func(callback->arg);
	}
}

/* As MemoryContextReset. */
static void
reset(MemoryContext context)
{
	MemoryContext child;

	while ((child = context->firstchild) != NULL)
	{
		call_callbacks(child);
		context->firstchild = child->nextchild;
	}
	if (context->isReset)
		return;
	call_callbacks(context);
	context->isReset = true;
}

/* As HandleParallelMessages, without workers. */
static void
read_stub(void)
{
	if (messages.name == NULL)
	{
		messages.name = PLH_MESSAGES_CONTEXT;
		messages.isReset = true;
		messages.nextchild = top.firstchild;
		top.firstchild = &messages;
	}
	else
		reset(&messages);
	ParallelMessagePending = false;
	reset(&messages);
}

#undef AllocSetContextCreate
#define AllocSetContextCreate(parent, name, ...) create_stub(parent, name)
#define MemoryContextRegisterResetCallback register_stub
#define ParallelContextActive active_stub
#undef PLH_READ_MESSAGES
#define PLH_READ_MESSAGES read_stub
#include "sampler/doorbell.c"

#include "unit_tests.h"

static void
answer_stub(void)
{
	answers++;
}

/* What the server does at the next check for interrupts, when somebody has rung. */
static int
answers_to_a_ring(void)
{
	answers = 0;
	read_stub();
	return answers;
}

static void
start_again(void)
{
	memset(&top, 0, sizeof(top));
	memset(&messages, 0, sizeof(messages));
	ParallelMessagePending = false;
	InterruptPending = false;
	place = NULL;
	is_hung = false;
	answers = keepers = 0;
}

static void
test_hanging(void)
{
	start_again();
	plh_doorbell_hang();
	ok(!is_hung && ParallelMessagePending && InterruptPending,
	   "where the server has no place yet, it is asked for one");
	ok(answers_to_a_ring() == 0 && messages.name != NULL, "which it makes");
	plh_doorbell_hang();
	ok(is_hung && answers == 0, "and then the bell is hung");
	for (int i = 0; i < 5; i++)
		(void) answers_to_a_ring();
	ok(answers == 2 && is_hung && messages.firstchild == &keeper && messages.isReset,
	   "it is heard at each ring, before messages and after");
	keepers = 0;
	plh_doorbell_hang();
	ok(keepers == 0 && messages.reset_cbs == NULL, "it is hung once");
}

static void
test_hanging_at_once(void)
{
	start_again();
	has_workers = true;
	plh_doorbell_hang_at_once();
	ok(!is_hung && messages.name == NULL, "messages of workers are not read before their time");
	has_workers = false;
	plh_doorbell_hang_at_once();
	ok(is_hung && answers_to_a_ring() > 0, "a process that may become idle hears it from then on");
}

/* One that checks for interrupts in another way, or is no child of the server. */
static void
test_deaf(void)
{
	start_again();
	MyProc = NULL;
	plh_doorbell_hang();
	plh_doorbell_hang_at_once();
	ok(!InterruptPending && messages.name == NULL, "a process that the server does not know hears nothing");
	MyProc = &proc;
	IsUnderPostmaster = false;
	plh_doorbell_hang();
	ok(!InterruptPending, "nor does the postmaster");
	IsUnderPostmaster = true;
}

/* The youngest contexts are the first. */
static void
test_search(void)
{
	static MemoryContextData others[PLACES_LOOKED_AT];

	start_again();
	(void) read_stub();
	for (int i = 0; i < PLACES_LOOKED_AT; i++)
	{
		others[i].name = "another";
		others[i].nextchild = i + 1 < PLACES_LOOKED_AT ? &others[i + 1] : &messages;
	}
	top.firstchild = &others[1];
	ok(find_place(PLACES_LOOKED_AT) && place == &messages, "the place is found among others");
	top.firstchild = &others[0];
	plh_doorbell_hang();
	ok(!is_hung && InterruptPending, "but is not looked for among thousands inside palloc");
	plh_doorbell_hang_at_once();
	ok(is_hung && answers_to_a_ring() > 0, "elsewhere it is");
}

void
test_doorbell(void)
{
	MemoryContext before = TopMemoryContext;
	PGPROC	   *proc_before = MyProc;

	TopMemoryContext = &top;
	MyProc = &proc;
	plh_doorbell_start(answer_stub);
	test_hanging();
	test_hanging_at_once();
	test_deaf();
	test_search();
	TopMemoryContext = before;
	MyProc = proc_before;
}
