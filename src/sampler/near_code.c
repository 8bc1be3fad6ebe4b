/*
 * near_code.c
 *	  Machine code within a jump's reach of the server's.
 *
 * There are two pages.  The first has the code: it is written once, and made
 * executable when it can't be written to any more.  The second has the counter, which
 * each process has a copy of.
 */
#include "postgres.h"

#include <sys/mman.h>
#include <unistd.h>

#include "sampler/machine_code.h"
#include "sampler/near_code.h"

#ifdef __x86_64__

/* Older systems take the address that they are given for a wish. */
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0
#endif

/* The pages are looked for below the server's code, in such steps. */
#define PLACE_STEP ((uintptr_t) 1024 * 1024)
#define PLACES 64
#define LOWEST_PLACE ((uintptr_t) 64 * 1024)

/* Each function begins at a multiple of this. */
#define FUNCTION_BYTES 64

static char *pages;				/* NULL: there are none */
static Size page_bytes;
static PlhMachineCode code;

static uint64 *
counter(void)
{
	return (uint64 *) (pages + page_bytes);
}

/*
 * Get memory within reach of the server's code, some of which is there.  Returns the
 * counter, or NULL if there is none.
 */
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
			pages = mapped;
			plh_machine_code_start(&code, pages, page_bytes, pages);
			return counter();
		}
		if (mapped != MAP_FAILED)
			(void) munmap(mapped, 2 * page_bytes);
	}
	return NULL;
}

/*
 * Returns a function that subtracts its second argument from the counter and goes on
 * to "next"; to "over", if the counter has come to 0 or below.
 */
void *
plh_near_code_count_down(void *next, void *over)
{
	void	   *function = plh_machine_code_align(&code, FUNCTION_BYTES);

	plh_machine_code_count_down(&code, 2, counter());
	plh_machine_code_branch(&code, PLH_IF_ABOVE, next, over);
	return function;
}

/*
 * Returns a function that asks a filter (block_filter.h) for its argument of that
 * number, 1 or 2, and goes on to "next"; to "found", if the argument is near a sample.
 */
void *
plh_near_code_ask_filter(int argument, const uint8 *filter, void *next,
						 void *found)
{
	void	   *function = plh_machine_code_align(&code, FUNCTION_BYTES);

	plh_machine_code_ask_filter(&code, argument, filter);
	plh_machine_code_branch(&code, PLH_IF_EQUAL, next, found);
	return function;
}

/*
 * Make the functions ready to be called.  Returns false if they are not, and then they
 * are gone, and so is the counter.
 */
bool
plh_near_code_end(void)
{
	if (code.is_sound &&
		mprotect(pages, page_bytes, PROT_READ | PROT_EXEC) == 0)
		return true;
	(void) munmap(pages, 2 * page_bytes);
	pages = NULL;
	return false;
}

#else

uint64 *
plh_near_code_begin(const void *server_code)
{
	return NULL;
}

void *
plh_near_code_count_down(void *next, void *over)
{
	pg_unreachable();
}

void *
plh_near_code_ask_filter(int argument, const uint8 *filter, void *next,
						 void *found)
{
	pg_unreachable();
}

bool
plh_near_code_end(void)
{
	return false;
}

#endif							/* __x86_64__ */
