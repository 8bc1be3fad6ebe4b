/*
 * test_passing_questions.c
 *	  Questions about symbols whose answers nobody waits for.
 *
 * The tests say when the symbolizer answers, and what time it is.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "base/clock.h"
#include "symbols/symbol_cache.h"
#include "symbols/symbolizer.h"

static int64 this_time(clockid_t clock);
static PlhSymbolizer *open_stub(void);
static PlhModuleStatus send_stub(PlhSymbolizer *to, const PlhModuleRecord *module, uint64 address);
static bool is_ready_stub(PlhSymbolizer *from, int wait_ms);
static void take_stub(PlhSymbolizer *from, PlhSymbolAnswer *answer);

#define plh_clock_us this_time
#define plh_symbolizer_open open_stub
#define plh_symbolizer_send send_stub
#define plh_symbolizer_is_ready is_ready_stub
#define plh_symbolizer_take take_stub
#include "symbols/passing_questions.c"
#undef plh_clock_us
#undef plh_symbolizer_open
#undef plh_symbolizer_send
#undef plh_symbolizer_is_ready
#undef plh_symbolizer_take

#include "backend.h"
#include "reader_tests.h"

#define NOW_US INT64CONST(1000000000)
#define MODULE_BYTES (sizeof(PlhModuleRecord) + 16)

static int64 now_us = NOW_US;
static bool answers;			/* in time */
static int	opened;
static int	sent;
static int	waited_ms;
static uint64 asked;

static int64
this_time(clockid_t clock)
{
	return now_us;
}

static PlhSymbolizer *
open_stub(void)
{
	opened++;
	return NULL;
}

static PlhModuleStatus
send_stub(PlhSymbolizer *to, const PlhModuleRecord *module, uint64 address)
{
	sent++;
	asked = address;
	return PLH_MODULE_OPEN;
}

static bool
is_ready_stub(PlhSymbolizer *from, int wait_ms)
{
	waited_ms = wait_ms;
	return answers;
}

/* The function is called like its address. */
static void
take_stub(PlhSymbolizer *from, PlhSymbolAnswer *answer)
{
	char		name[16];
	PlhSourceFrame frame = {.function = name};

	snprintf(name, sizeof(name), "f%d", (int) asked);
	memset(answer, 0, PLH_ANSWER_HEAD_BYTES);
	if (!plh_symbol_protocol_add_frame(answer, &frame))
		abort();
}

/* Ask until a time from now on.  Returns whether that function is the answer. */
static bool
ask(const PlhModuleRecord *module, uint64 address, int64 until_us, const char *function)
{
	static PlhSymbolAnswer answer;
	PlhSourceFrame frame;
	uint32		position = 0;

	return plh_passing_questions_ask(module, address, now_us + until_us, &answer) &&
		plh_symbol_protocol_next_frame(&answer, &position, &frame) &&
		strcmp(frame.function, function) == 0;
}

void
test_passing_questions(void)
{
	MemoryContext top_before = TopMemoryContext;
	PlhModuleRecord *module = palloc0(MODULE_BYTES);

	TopMemoryContext = CurrentMemoryContext;
	module->build_id_bytes = 1;
	module->build_id[0] = 77;
	strcpy(module->path, "/a");
	module->path_bytes = 2;

	ok(!ask(module, 1, 0, "f1") && sent == 0, "where there is no time, nothing is asked");
	answers = true;
	ok(ask(module, 1, 250000, "f1") && opened == 1 && waited_ms == 250, "an answer is waited for until its time");
	ok(ask(module, 2, 250000, "f2") && opened == 1, "one symbolizer answers all");
	answers = false;
	ok(!ask(module, 3, 250000, "f3") && sent == 3, "one that comes too late is left out");
	ok(!ask(module, 4, 250000, "f4") && sent == 3, "nothing is asked while it is still to come");
	plh_passing_questions_end();
	answers = true;
	ok(ask(module, 3, 0, "f3") && sent == 3 && waited_ms == 0, "it is there the next time");
	plh_passing_questions_end();
	ok(ask(module, 5, 250000, "f5") && opened == 2, "without an open question the symbolizer has gone");
	plh_passing_questions_end();
	pfree(module);
	TopMemoryContext = top_before;
}
