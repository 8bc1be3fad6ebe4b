/*
 * preload_tests.h
 *	  The tests of the preloaded library, and what they share.
 */
#ifndef PRELOAD_TESTS_H
#define PRELOAD_TESTS_H

#include <stdbool.h>

/* The same program once more, as it does "mode"; true if that ends well. */
extern bool run_mode(const char *mode);

/* Whether jemalloc allocates, behind the library or before it. */
extern bool is_jemalloc(void);

extern void test_functions(void);
extern void test_filter(void);
extern void test_failures(void);
extern void test_errno(void);
extern void test_mixture(void);
extern void test_idle(void);
extern void test_libc(void);
extern void test_operators(void);
extern void test_closed_library(void);
extern void test_fork_with_threads(void);
extern void test_exec(void);
extern void test_interruptions(void);
extern void test_first_and_last_calls(void);

#endif							/* PRELOAD_TESTS_H */
