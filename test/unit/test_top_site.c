/*
 * test_top_site.c
 *	  The call site by which a process holds most, with memory and without.
 */
#include "postgres.h"

#include "base/private_memory.h"
#include "base/settings.h"
#include "process/top_site.h"
#include "profile/profile.h"
#include "profile/profile_counters.h"
#include "failing_memory.h"
#include "unit_tests.h"

#define STACKS 1000
#define CONTEXTS 5
#define STATEMENTS 6
#define SITES (STACKS * CONTEXTS * STATEMENTS)

/* The one that has most by its sum, and the one that has the largest site. */
#define LARGEST_SUM 700
#define LARGEST_SITE 300

/* Returns the bytes of a site. */
static Size
bytes_of(int stack, int context, int statement)
{
	if (context != 2)
		return 10;
	if (stack == LARGEST_SUM)
		return 1000 + statement;
	return stack == LARGEST_SITE && statement == 3 ? 3000 : 10;
}

/* Add a sample to the site of that stack, context and statement. */
static bool
add_sample(int stack_number, int context, int statement)
{
	PlhStack	stack = {0};
	PlhSiteKey	key = {0};
	PlhDraw		exact = {.interval_bytes = 1};
	char		name[32];

	stack.addresses = stack.buffer;
	stack.depth = 1;
	stack.buffer[0] = 0x1000 + stack_number;	/* behind the call */
	key.stack = plh_profile_stack(&stack);
	snprintf(name, sizeof(name), "context %d", context);
	key.context_name = plh_profile_string(name, PLH_CONTEXT_NAME_MAX);
	snprintf(name, sizeof(name), "SELECT statement %d", statement);
	key.statement = plh_profile_statement(statement + 1, name);
	if (key.stack == 0 || key.context_name == 0 || key.statement == 0)
		return false;
	plh_profile_counters_add(plh_profile_site(&key),
							 bytes_of(stack_number, context, statement), 0, exact);
	return true;
}

/* Make a profile in which the sites of a stack lie far from each other. */
static const char *
make_sites(void)
{
	const char *broken = NULL;

	memory_requests = failing_request = 0;
	plh_load_settings.max_profile_size = 16 * 1024 * 1024;
	REQUIRE(broken, plh_profile_begin());
	plh_profile_counters_start();
	for (int i = 0; i < SITES && broken == NULL; i++)
		REQUIRE(broken, add_sample(i % STACKS, i / STACKS % CONTEXTS,
								   i / STACKS / CONTEXTS));
	return broken;
}

/* Find the top site, where the N-th request for memory and all after it fail. */
static PlhTopSite
find_top(int fail_at)
{
	PlhTopSite	top;

	memory_requests = 0;
	failing_request = fail_at;
	(void) plh_top_site_find(&top, plh_profile_image_own(plh_profile),
							 PLH_TOP_NOW);
	failing_request = 0;
	return top;
}

void
test_top_site(void)
{
	Size		max_bytes = plh_load_settings.max_profile_size;
	Size		memory_before;
	const char *broken = make_sites();
	PlhTopSite	top;

	ok_unbroken(broken, "a profile of many sites is made");
	if (broken != NULL)
		return;
	memory_before = plh_private_memory_bytes();

	top = find_top(0);
	REQUIRE(broken, top.bytes == 6015);
	REQUIRE(broken, top.surely_bytes == 6015);
	REQUIRE(broken, top.statements == STATEMENTS);
	REQUIRE(broken, strcmp(top.context->text, "context 2") == 0);
	REQUIRE(broken, strcmp(top.statement->text, "SELECT statement 5") == 0);
	REQUIRE(broken, PLH_FRAME_ADDRESS(top.stack->frames[0]) ==
			0x1000 + LARGEST_SUM - 1);
	ok_unbroken(broken, "sites of one stack and context are added up");

	top = find_top(1);
	REQUIRE(broken, top.bytes == 3000 && top.statements == 1);
	REQUIRE(broken, strcmp(top.statement->text, "SELECT statement 3") == 0);
	ok_unbroken(broken, "each site counts by itself without memory");

	for (int n = 2; n < 10; n++)
	{
		top = find_top(n);
		REQUIRE(broken, top.bytes >= 3000 && top.bytes <= 6015);
	}
	ok_unbroken(broken, "a site that has much is found with less memory");
	ok(plh_private_memory_bytes() == memory_before, "the memory for the top site is given back");
	plh_load_settings.max_profile_size = max_bytes;
	plh_profile_forget();
	plh_profile_counters_forget();
}
