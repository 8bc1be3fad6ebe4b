/*
 * unit_tests.c
 *	  Tests of the files that need no server around them.
 *
 * Prints TAP.
 */
#include "postgres.h"

#include "base/guard.h"
#include "unit_tests.h"

static int	tests;
static int	failures;

void
ok(bool passed, const char *name)
{
	tests++;
	if (!passed)
		failures++;
	printf("%sok %d - %s\n", passed ? "" : "not ", tests, name);
}

void
ok_unbroken(const char *broken, const char *name)
{
	if (broken != NULL)
		printf("# does not hold: %s\n", broken);
	ok(broken == NULL, name);
}

/* What is palloc'd would go with its memory context, and there are none. */
const char *__asan_default_options(void);
const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}

int
main(void)
{
	/* as the hooks do before they call what is tested */
	plh_guard_held = true;

	test_sampling();
	test_tables();
	test_lifetimes();
	test_profiles();
	test_census();
	test_whole_io();
	test_symbol_protocol();
	test_server_functions();
	test_suspects();
	test_suspect_list();
	printf("1..%d\n", tests);
	return failures == 0 ? 0 : 1;
}
