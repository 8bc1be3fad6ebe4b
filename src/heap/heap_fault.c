/*
 * heap_fault.c
 *	  Reading memory that may not be readable.
 */
#include "postgres.h"

#include <signal.h>

#include "heap/heap_fault.h"

/* Only a process that was forked for this uses it, or a program. */
sigjmp_buf	plh_heap_fault_place;

static void
leave_page(int signal_number)
{
	siglongjmp(plh_heap_fault_place, 1);
}

void
plh_heap_fault_catch(void)
{
	signal(SIGSEGV, leave_page);
	signal(SIGBUS, leave_page);
}

void
plh_heap_fault_release(void)
{
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
}

bool
plh_heap_fault_can_read(const char *byte)
{
	volatile bool is_read = false;

	plh_heap_fault_catch();
	if (PLH_HEAP_FAULT_NONE())
	{
		(void) *(const volatile char *) byte;
		is_read = true;
	}
	plh_heap_fault_release();
	return is_read;
}
