/*
 * pairs.c
 *	  A number of mallocs of one size, each of which is freed at once.
 */
#include <stdlib.h>

int
main(int argc, char **argv)
{
	size_t		bytes = argc > 1 ? atol(argv[1]) : 64;
	long		times = argc > 2 ? atol(argv[2]) : 1000;

	for (long i = 0; i < times; i++)
		free(malloc(bytes));
	return 0;
}
