/*
 * counters.c
 *	  libFuzzer's counters of edges, for what runs in a process of its own.
 *
 * Compiled without coverage: the compiler would take these names for its own.
 */
#include "postgres.h"

#include "counters.h"

/* The linker sets these, if any file has counters. */
extern uint8 __start___sancov_cntrs[] __attribute__((weak, visibility("hidden")));
extern uint8 __stop___sancov_cntrs[] __attribute__((weak, visibility("hidden")));

uint8 *
counters_start(void)
{
	return __start___sancov_cntrs;
}

/*
 * 0 in a program that only replays.
 */
Size
counters_bytes(void)
{
	return __stop___sancov_cntrs - __start___sancov_cntrs;
}
