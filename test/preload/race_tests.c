/*
 * race_tests.c
 *	  The tests of threads, with the library compiled in, under ThreadSanitizer.
 */
#include "fake_sampler.h"
#include "tap.h"
#include "test_threads.h"

int
main(void)
{
	/* The first calls of all come from several threads at once. */
	threads_start(1000);
	threads_end(false);
	threads_free_blocks();
	ok(fake_find_hook() != NULL, "the library is compiled in");
	test_threads();
	return tests_end();
}
