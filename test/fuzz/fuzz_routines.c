/*
 * fuzz_routines.c
 *	  Error context callbacks whose arguments are anything, as those of a library are that
 *	  only seems to be a language.
 *
 * An input is a list of words, which are written into the stack of the process and into
 * other memory before it.  There is nothing else: what lies before, between and after
 * these can't be read.  The walk over the callbacks begins where the input says.
 */
#include "postgres.h"

#include <sys/mman.h>
#include <sys/uio.h>

#include "catalog/pg_class.h"
#include "commands/trigger.h"
#include "fmgr.h"

#include "fuzz.h"
#include "routine/known_callbacks.h"
#include "routine_input.h"

static const PlhRoutineReader *proven_reader(uintptr_t callback, const void *argument);
static ssize_t read_memory(pid_t pid, const struct iovec *to, unsigned long to_count,
						   const struct iovec *from, unsigned long from_count,
						   unsigned long flags);

static char *memory;

/* What a sanitizer has of its own is not there, as it can't be read by others. */
#define process_vm_readv read_memory
#include "base/own_memory.c"
#undef process_vm_readv

/* The walk takes a callback's reader from its address, and the stack for that of here. */
#define plh_known_callbacks_reader proven_reader
#define __builtin_frame_address(level) (memory + ROUTINE_INPUT_STACK)
#define plh_known_callbacks_refresh() ((void) 0)
#include "routine/running_routines.h"
#undef plh_known_callbacks_refresh
#undef __builtin_frame_address
#undef plh_known_callbacks_reader

uintptr_t	plh_stack_walk_low;
uintptr_t	plh_stack_walk_end;

static const PlhRoutineReader *const readers[] = {
	&plh_plpgsql_routine, &plh_sql_routine, &plh_perl_routine, &plh_python_routine
};

/* What a function in SQL is called by. */
Datum
fmgr_sql(PG_FUNCTION_ARGS)
{
	return 0;
}

/* An argument is only read where it has proven what it is. */
static const PlhRoutineReader *
proven_reader(uintptr_t callback, const void *argument)
{
	const PlhRoutineReader *reader = readers[callback % lengthof(readers)];

	return reader->prove(argument) != PLH_TRUST_NONE ? reader : NULL;
}

/* May bytes at that place of the memory be read? */
static bool
is_there(Size at, Size bytes)
{
	return at + bytes <= ROUTINE_INPUT_OTHER_BYTES ||
		(at >= ROUTINE_INPUT_STACK && at + bytes <= ROUTINE_INPUT_BYTES);
}

/* process_vm_readv, of what the memory is. */
static ssize_t
read_memory(pid_t pid, const struct iovec *to, unsigned long to_count,
			const struct iovec *from, unsigned long from_count, unsigned long flags)
{
	uintptr_t	at = (uintptr_t) from->iov_base;
	uintptr_t	first = (uintptr_t) memory;

	if (at == (uintptr_t) &may_copy)
		return from->iov_len;
	if (at < first || at - first > ROUTINE_INPUT_BYTES || !is_there(at - first, from->iov_len))
		return -1;
	memcpy(to->iov_base, from->iov_base, from->iov_len);
	return from->iov_len;
}

static void
allow(Size at, Size bytes)
{
	if (mprotect(memory + at, bytes, PROT_READ | PROT_WRITE) != 0)
		abort();
}

static void
make_memory(void)
{
	char	   *all = mmap(NULL, ROUTINE_INPUT_BYTES + 2 * ROUTINE_INPUT_GAP_BYTES,
						   PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (all == MAP_FAILED)
		abort();
	memory = all + ROUTINE_INPUT_GAP_BYTES;
	allow(0, ROUTINE_INPUT_OTHER_BYTES);
	allow(ROUTINE_INPUT_STACK, ROUTINE_INPUT_STACK_BYTES);
	plh_stack_walk_low = (uintptr_t) memory + ROUTINE_INPUT_STACK;
	plh_stack_walk_end = (uintptr_t) memory + ROUTINE_INPUT_BYTES;
	plh_own_memory_start();
}

static void
clear_memory(void)
{
	memset(memory, 0, ROUTINE_INPUT_OTHER_BYTES);
	memset(memory + ROUTINE_INPUT_STACK, 0, ROUTINE_INPUT_STACK_BYTES);
}

/* Write a word as the input says. */
static void
write_word(const RoutineInput *input)
{
	uint64		word = input->value;

	if (!is_there(input->at, sizeof(word)))
		return;
	switch (input->kind % ROUTINE_INPUT_KINDS)
	{
		case ROUTINE_INPUT_NUMBER:
			break;
		case ROUTINE_INPUT_POINTER:
			word = (uintptr_t) memory + (uint16) input->value;
			break;
		case ROUTINE_INPUT_FUNCTION:
			word = (uintptr_t) fmgr_sql;
			break;
		case ROUTINE_INPUT_TAG:
			word = T_TriggerData;
			break;
	}
	memcpy(memory + input->at, &word, sizeof(word));
}

/* Walk as a sample does, and look at all that is found. */
static void
walk(void *arg)
{
	PlhRoutineWalk walk;
	PlhRunningRoutine running;

	plh_running_routines_begin(&walk);
	while (plh_running_routines_next(&walk, &running))
	{
		PlhRoutine	routine = {.line = 0};

		HOLDS(running.place >= plh_stack_walk_low && running.place < plh_stack_walk_end);
		if (!running.reader->read(running.argument, &routine))
			continue;
		fuzz_accepted++;
		HOLDS(strlen(routine.name) < ROUTINE_INPUT_BYTES);
		HOLDS(routine.line >= 0);
		if (running.reader->mark != NULL)
		{
			uint64		place = running.reader->mark(running.argument).place;

			HOLDS(place == 0 || (uint32) place == routine.line + 1);
		}
	}
}

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t bytes)
{
	uint16		first;
	RoutineInput word;

	if (bytes < sizeof(first))
		return 0;
	if (memory == NULL)
		make_memory();
	clear_memory();
	memcpy(&first, data, sizeof(first));
	for (size_t at = sizeof(first); at + sizeof(word) <= bytes; at += sizeof(word))
	{
		memcpy(&word, data + at, sizeof(word));
		write_word(&word);
	}
	error_context_stack = (ErrorContextCallback *) (memory + first);
	HOLDS(fuzz_run(bytes, walk, NULL) == 0);
	return 0;
}
