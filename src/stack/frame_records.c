/*
 * frame_records.c
 *	  Walks over the stack by the frame records of aarch64.
 *
 * The procedure call standard lets x29 point to a record of two words: where the
 * caller's record is, and the return address.  Compilers keep it up by default, and the
 * function at the start of a stack stores a null.
 *
 * libunwind before 1.7 does not know how functions sign their return addresses
 * (-mbranch-protection): it ends the stack there, or dereferences a signed address and
 * crashes the server.  From 1.7 on, unw_backtrace returns signed addresses.
 *
 * This code runs inside palloc.
 */
#include "postgres.h"

#include "base/own_memory.h"
#include "stack/frame_records.h"
#include "stack/stack_walk.h"

#if PLH_HAVE_FRAME_RECORDS

/* A record, during a walk. */
typedef struct FrameRecord
{
	uintptr_t	at;
	uintptr_t	caller;			/* where the caller's is */
	uintptr_t	return_address; /* may be signed */
} FrameRecord;

/* What the two words are. */
#define RECORD_BYTES (2 * sizeof(uintptr_t))

/*
 * Returns a return address without its signature.  The instruction does nothing on
 * processors that do not sign, and its name is unknown to compilers for them.
 */
static inline uintptr_t
strip_signature(uintptr_t address)
{
	register uintptr_t link __asm__("x30") = address;

	/* xpaclri */
	__asm__("hint #7"
:			"+r"(link));
	return link;
}

/* Returns whether a record may be in the stack of the process, above another one. */
static inline bool
is_above(uintptr_t at, uintptr_t other)
{
	return at > other && at % sizeof(uintptr_t) == 0 &&
		at <= plh_stack_walk_end - RECORD_BYTES;
}

/*
 * Step to the caller's record.  On the stack of the process it lies above this one;
 * on others nothing is known, and the kernel reads it.  Returns false if there is none.
 */
static inline PLH_NO_SANITIZER bool
step(FrameRecord *record, bool in_stack)
{
	uintptr_t	at = record->caller;
	uintptr_t	words[2];

	if (in_stack)
	{
		if (!is_above(at, record->at))
			return false;
		words[0] = plh_stack_walk_word(at);
		words[1] = plh_stack_walk_word(at + sizeof(uintptr_t));
	}
	else if (at == 0 || !plh_own_memory_copy_struct(words, (const void *) at, RECORD_BYTES))
		return false;
	record->at = at;
	record->caller = words[0];
	record->return_address = words[1];
	return record->return_address != 0;
}

/*
 * Put the return addresses from here on into "addresses", the innermost first, and the
 * ends of the records of the functions that return there into "places", unless that is
 * NULL.  Returns how many there are.
 */
pg_noinline int
plh_frame_records_walk(uintptr_t *addresses, uintptr_t *places, int max_count)
{
	FrameRecord record = {.caller = (uintptr_t) __builtin_frame_address(0)};
	bool		in_stack = record.caller >= plh_stack_walk_low &&
		record.caller < plh_stack_walk_end;
	int			count = 0;

	while (count < max_count && step(&record, in_stack))
	{
		if (places != NULL)
			places[count] = record.at + RECORD_BYTES;
		addresses[count++] = strip_signature(record.return_address);
	}
	return count;
}

#endif							/* PLH_HAVE_FRAME_RECORDS */
