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
	ok(fake_find_hook() != NULL, "the library is compiled in");
	test_threads();
	return tests_end();
}
