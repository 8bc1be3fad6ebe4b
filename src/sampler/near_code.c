/*
 * near_code.c
 *	  Machine code within a jump's reach of the server's.
 *
 * There are two pages.  The first has the code: it is written once, and made executable when it
 * can't be written to any more.  The second has the counter, which each process has a copy of.
 *
 * The code calls nothing and has no frame: it jumps on, so that no return address ever leads into
 * it.  Only what interrupts it, a signal or a debugger, meets it.
 */
#include "postgres.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/fork.h"
#include "preload/block_filter.h"
#include "sampler/near_code.h"

/* Kernels before 4.17 treat the address as a hint. */
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0
#endif

/* The pages are looked for below the server's code, in such steps; for other processors nowhere. */
#define PLACE_STEP ((uintptr_t) 1024 * 1024)
#ifdef __x86_64__
#define PLACES 64
#else
#define PLACES 0
#endif
#define LOWEST_PLACE ((uintptr_t) 64 * 1024)

/* Each function begins at a multiple of this, and has no more bytes. */
#define FUNCTION_BYTES 64

static PLH_SET_AT_LOAD char *pages; /* NULL: there are none */
static PLH_SET_AT_LOAD Size page_bytes;
static PLH_SET_AT_LOAD char *at;	/* where the next byte of code goes */
static PLH_SET_AT_LOAD bool is_out_of_reach;	/* of a jump */

static uint64 *
counter(void)
{
	return (uint64 *) (pages + page_bytes);
}

static void
put_bytes(const void *bytes, Size length)
{
	memcpy(at, bytes, length);
	at += length;
}

#define PUT(...) \
	put_bytes((const uint8[]) {__VA_ARGS__}, sizeof((const uint8[]) {__VA_ARGS__}))

/* The end of an instruction: how far it is from there to a place. */
static void
put_distance(const void *place)
{
	int64		distance = (int64) (uintptr_t) place - (int64) (uintptr_t) (at + 4);
	int32		short_distance = (int32) distance;

	if (short_distance != distance)
		is_out_of_reach = true;
	put_bytes(&short_distance, sizeof(short_distance));
}

static void
put_address(const void *address)
{
	put_bytes(&address, sizeof(address));
}

/* The end of a function: a conditional jump with that second byte, and one to elsewhere. */
static void
put_branches(uint8 condition, void *next, void *elsewhere)
{
	PUT(0x0f, condition);
	put_distance(next);
	PUT(0x49, 0xbb);			/* movabs $elsewhere, %r11 */
	put_address(elsewhere);
	PUT(0x41, 0xff, 0xe3);		/* jmp *%r11 */
}

/* Get memory within reach of the server's code, some of which is there.  Returns the counter. */
uint64 *
plh_near_code_begin(const void *server_code)
{
	uintptr_t	place = TYPEALIGN_DOWN(PLACE_STEP, (uintptr_t) server_code);

	page_bytes = sysconf(_SC_PAGESIZE);
	for (int i = 0; i < PLACES && place >= PLACE_STEP + LOWEST_PLACE; i++)
	{
		void	   *mapped;

		place -= PLACE_STEP;
		mapped = mmap((void *) place, 2 * page_bytes, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (mapped == (void *) place)
		{
			pages = at = mapped;
			is_out_of_reach = false;
			return counter();
		}
		if (mapped != MAP_FAILED)
			(void) munmap(mapped, 2 * page_bytes);
	}
	return NULL;
}

/* The function subtracts its second argument, and goes on to "over" where 0 or less is left. */
void *
plh_near_code_count_down(void *next, void *over)
{
	char	   *function = at = (char *) TYPEALIGN(FUNCTION_BYTES, at);

	PUT(0x48, 0x29, 0x35);		/* sub %rsi, counter(%rip) */
	put_distance(counter());
	put_branches(0x87, next, over); /* ja */
	return function;
}

/* The function goes on to "found" if its argument, 1 or 2, is near what a filter has. */
void *
plh_near_code_ask_filter(int argument, const uint8 *filter, void *next, void *found)
{
	char	   *function = at = (char *) TYPEALIGN(FUNCTION_BYTES, at);
	uint32		factor = PLH_FILTER_FACTOR;

	PUT(0x69, argument == 1 ? 0xc7 : 0xc6); /* imul $factor, %edi/%esi, %eax */
	put_bytes(&factor, sizeof(factor));
	PUT(0x49, 0xbb);			/* movabs $filter, %r11 */
	put_address(filter);
	PUT(0xc1, 0xe8, 32 - PLH_FILTER_BITS + 3);	/* shr $..., %eax */
	PUT(0x41, 0x80, 0x3c, 0x03, 0); /* cmpb $0, (%r11,%rax) */
	put_branches(0x84, next, found);	/* je */
	return function;
}

/* Make the functions ready to be called.  If that fails, they and the counter are gone. */
bool
plh_near_code_end(void)
{
	Assert(at <= pages + page_bytes);
	if (!is_out_of_reach && mprotect(pages, page_bytes, PROT_READ | PROT_EXEC) == 0)
		return true;
	(void) munmap(pages, 2 * page_bytes);
	pages = NULL;
	return false;
}
