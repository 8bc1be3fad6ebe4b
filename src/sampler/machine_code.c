/*
 * machine_code.c
 *	  Writes what each palloc, pfree, malloc and free does as machine code.
 *
 * Arguments are numbered from 1, as functions have them by the calling convention of
 * System V.  What the steps change beside, a function may change there: %eax and %r11.
 */
#include "postgres.h"

#include "preload/block_filter.h"
#include "sampler/machine_code.h"

#ifdef __x86_64__

/* Numbers of registers in an instruction. */
static uint8
register_of(int argument)
{
	Assert(argument == 1 || argument == 2);
	return argument == 1 ? 7 : 6;	/* %rdi, %rsi */
}

static void
put_bytes(PlhMachineCode *code, const void *bytes, Size length)
{
	if (length > code->room - code->length)
	{
		code->is_sound = false;
		return;
	}
	memcpy(code->bytes + code->length, bytes, length);
	code->length += length;
}

#define PUT(...) \
	put_bytes(code, (const uint8[]) {__VA_ARGS__}, sizeof((const uint8[]) {__VA_ARGS__}))

/* How far it is from an instruction that ends so many bytes from here to a place. */
static int64
distance_to(const PlhMachineCode *code, Size bytes, const void *place)
{
	return (int64) (uintptr_t) place -
		(int64) (code->place + code->length + bytes);
}

static bool
is_within_reach(int64 distance)
{
	return distance == (int32) distance;
}

static void
put_number(PlhMachineCode *code, int64 number)
{
	int32		short_number = (int32) number;

	if (short_number != number)
		code->is_sound = false;
	put_bytes(code, &short_number, sizeof(short_number));
}

/* The end of an instruction that says how far it is from there to a place. */
static void
put_distance(PlhMachineCode *code, const void *place)
{
	put_number(code, distance_to(code, sizeof(int32), place));
}

static void
put_address_into_r11(PlhMachineCode *code, const void *address)
{
	PUT(0x49, 0xbb);			/* movabs $address, %r11 */
	put_bytes(code, &address, sizeof(address));
}

/*
 * Begin to write at "bytes", where there is so much room, what will be run at "place".
 */
void
plh_machine_code_start(PlhMachineCode *code, void *bytes, Size room,
					   const void *place)
{
	*code = (PlhMachineCode)
	{
		.bytes = bytes,.room = room,.place = (uintptr_t) place,.is_sound = true
	};
}

/*
 * Begin another function at a multiple of "alignment", and return where it is to be
 * run.
 */
void *
plh_machine_code_align(PlhMachineCode *code, Size alignment)
{
	code->length = Min(TYPEALIGN(alignment, code->length), code->room);
	return (void *) (code->place + code->length);
}

/*
 * Subtract an argument from a counter.  It is above 0 afterwards, or else it has come to
 * 0 or below.
 */
void
plh_machine_code_count_down(PlhMachineCode *code, int argument,
							const uint64 *counter)
{
	/* sub %argument, counter(%rip) */
	PUT(0x48, 0x29, 0x05 | register_of(argument) << 3);
	put_distance(code, counter);
}

/*
 * The same of a counter that each thread has, of which this thread's is given.
 */
void
plh_machine_code_count_down_of_thread(PlhMachineCode *code, int argument,
									  const uint64 *counter)
{
	uintptr_t	thread;

	/* the first word of what a thread has is where that lies */
	__asm__("movq %%fs:0, %0"
:			"=r"(thread));
	/* sub %argument, %fs:offset */
	PUT(0x64, 0x48, 0x29, 0x04 | register_of(argument) << 3, 0x25);
	put_number(code, (int64) (uintptr_t) counter - (int64) thread);
}

/*
 * Ask a filter (block_filter.h) for an argument: if that is near no sample, what is
 * compared is equal.
 */
void
plh_machine_code_ask_filter(PlhMachineCode *code, int argument,
							const uint8 *filter)
{
	uint32		factor = PLH_FILTER_FACTOR;

	PUT(0x69, 0xc0 | register_of(argument));	/* imul $factor, %argument,
												 * %eax */
	put_bytes(code, &factor, sizeof(factor));
	if (is_within_reach(distance_to(code, 7, filter)))
	{
		PUT(0x4c, 0x8d, 0x1d);	/* lea filter(%rip), %r11 */
		put_distance(code, filter);
	}
	else
		put_address_into_r11(code, filter);
	PUT(0xc1, 0xe8, 32 - PLH_FILTER_BITS + 3);	/* shr $..., %eax */
	PUT(0x41, 0x80, 0x3c, 0x03, 0); /* cmpb $0, (%r11,%rax) */
}

/*
 * End a function: go on to "next", which must be near, if the condition holds, and
 * "elsewhere" if not.
 */
void
plh_machine_code_branch(PlhMachineCode *code, PlhCondition condition,
						const void *next, const void *elsewhere)
{
	PUT(0x0f, condition);
	put_distance(code, next);
	if (is_within_reach(distance_to(code, 5, elsewhere)))
	{
		PUT(0xe9);				/* jmp elsewhere */
		put_distance(code, elsewhere);
	}
	else
	{
		put_address_into_r11(code, elsewhere);
		PUT(0x41, 0xff, 0xe3);	/* jmp *%r11 */
	}
}

#endif							/* __x86_64__ */
