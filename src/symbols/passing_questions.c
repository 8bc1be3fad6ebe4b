/*
 * passing_questions.c
 *	  Asks for symbols without waiting: what is not answered in time is there the next time that
 *	  somebody asks.
 *
 * There is one question at a time whose answer is still to come.  While there is, nothing else is
 * asked.  The symbolizer belongs to a memory context of its own, and both last from the first
 * question to an end without an open one.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "base/clock.h"
#include "symbols/passing_questions.h"
#include "symbols/symbol_cache.h"
#include "symbols/symbolizer.h"

typedef enum QuestionState
{
	QUESTION_NONE,
	QUESTION_OPEN,				/* its answer is still to come */
	QUESTION_UNSURE				/* an ERROR came between its parts */
} QuestionState;

static MemoryContext memory;	/* NULL: there is no symbolizer */
static PlhSymbolizer *symbolizer;
static QuestionState state;
static PlhModuleRecord *asked_module;	/* of the open question, as the next */
static uint64 asked_address;

static void
end_symbolizer(void)
{
	if (memory != NULL)
		MemoryContextDelete(memory);
	memory = NULL;
	state = QUESTION_NONE;
}

static void
begin_symbolizer(void)
{
	MemoryContext caller_context;

	if (memory != NULL)
		return;
	memory = AllocSetContextCreate(TopMemoryContext, "pg_leakhunt questions", ALLOCSET_SMALL_SIZES);
	caller_context = MemoryContextSwitchTo(memory);
	symbolizer = plh_symbolizer_open();
	MemoryContextSwitchTo(caller_context);
}

/* Its answer may come when the record is gone.  PLH_MODULE_OPEN, or why there will be none. */
static PlhModuleStatus
send_question(const PlhModuleRecord *module, uint64 address)
{
	Size		bytes = offsetof(PlhModuleRecord, path) + module->path_bytes + 1;
	PlhModuleStatus status;

	state = QUESTION_UNSURE;
	status = plh_symbolizer_send(symbolizer, module, address);
	state = QUESTION_NONE;
	if (status != PLH_MODULE_OPEN)
		return status;
	asked_module = MemoryContextAlloc(memory, bytes);
	memcpy(asked_module, module, bytes);
	asked_address = address;
	state = QUESTION_OPEN;
	return status;
}

static bool
take_answer(int64 until_us, PlhSymbolAnswer *answer)
{
	int64		left_us = until_us - plh_clock_us(CLOCK_MONOTONIC);

	if (!plh_symbolizer_is_ready(symbolizer, Max(left_us, 0) / 1000))
		return false;
	state = QUESTION_UNSURE;
	plh_symbolizer_take(symbolizer, answer);
	state = QUESTION_NONE;
	if (plh_symbol_cache_find(asked_module, asked_address) == NULL)
		plh_symbol_cache_add(asked_module, asked_address, answer);
	pfree(asked_module);
	return true;
}

bool
plh_passing_questions_ask(const PlhModuleRecord *module, uint64 address,
						  int64 until_us, PlhSymbolAnswer *answer)
{
	const PlhSymbolAnswer *known;
	PlhModuleStatus status;

	if (state == QUESTION_UNSURE)
		end_symbolizer();
	if (state == QUESTION_OPEN && !take_answer(until_us, answer))
		return false;

	/* it may have been this question that was open */
	known = plh_symbol_cache_find(module, address);
	if (known != NULL)
	{
		memcpy(answer, known, PLH_ANSWER_HEAD_BYTES + known->frames_bytes);
		return true;
	}
	if (plh_clock_us(CLOCK_MONOTONIC) >= until_us)
		return false;
	begin_symbolizer();
	status = send_question(module, address);
	if (status == PLH_MODULE_OPEN)
		return take_answer(until_us, answer);
	plh_symbol_protocol_set_status(answer, status);
	return status != PLH_MODULE_NOT_ASKED;
}

/* Let the symbolizer go unless an answer of it is still to come. */
void
plh_passing_questions_end(void)
{
	if (state != QUESTION_OPEN)
		end_symbolizer();
}
