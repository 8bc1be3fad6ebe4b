/*
 * early.c
 *	  A library that allocates before main, and after it.
 */
#include <stdlib.h>
#include <unistd.h>

extern void *early_block(void);

/* The program's, as it is at the end. */
extern long count_of_samples(void) __attribute__((weak));

static void *block;

void *
early_block(void)
{
	return block;
}

static __attribute__((constructor))
void
allocate_before_main(void)
{
	block = calloc(10, 10);
	block = realloc(block, 1000);
	free(malloc(100));
}

/* For run_mode("end"), which reads what is written. */
static __attribute__((destructor))
void
allocate_after_main(void)
{
	long		before = count_of_samples == NULL ? 0 : count_of_samples();

	if (before == 0)
		return;
	free(malloc(100));
	if (count_of_samples() == before + 1 && write(STDOUT_FILENO, "destructor\n", 11) != 11)
		abort();
}
