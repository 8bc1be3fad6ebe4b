/*
 * test_planned_failure.c
 *	  Which allocations count until the one that is to fail.
 */
#include "postgres.h"

#include "base/guard.h"
#include "profile/profile.h"
#include "sampler/current_site.h"
#include "sampler/lifetime.h"
#include "stack/modules.h"
#include "stack/allocation_wrappers.h"
#include "stack/unwind.h"
#include "unit_tests.h"

#define SITE 4242

/* Where the allocation comes from, and what may be done there. */
static bool failure_is_survived = true;
static PlhLifetime planned_lifetime = PLH_LIFETIME_STATEMENT;
static uintptr_t frames[4];
static int	frame_count;

/* Addresses of the server and of an extension, and one in a wrapper of the server. */
static PlhModule server_module;
static PlhModule extension_module;
#define OF_SERVER		0x1000
#define OF_WRAPPER		0x1100
#define OF_EXTENSION	0x2000

static bool
survived_stub(MemoryContext context)
{
	return failure_is_survived;
}

static PlhLifetime
lifetime_of_stub(MemoryContext context)
{
	return planned_lifetime;
}

static PlhModule *
module_stub(uintptr_t address)
{
	return address + 1 >= OF_EXTENSION ? &extension_module : &server_module;
}

static const PlhModule *
executable_stub(void)
{
	return &server_module;
}

static bool
wrapper_stub(uintptr_t address)
{
	return address + 1 == OF_WRAPPER;
}

static uint32
string_stub(const char *text, Size max_bytes)
{
	return 1;
}

static void
stack_stub(PlhStack *stack, uint32 interval)
{
	stack->addresses = frames;
	stack->depth = frame_count;
}

static uint32
site_stub(PlhStack *stack, uint32 name, PlhLifetime lifetime)
{
	return SITE;
}

#define plh_process_limit_may_fail survived_stub
#define plh_lifetime_of lifetime_of_stub
#define plh_modules_find module_stub
#define plh_modules_executable executable_stub
#define plh_allocation_wrappers_have wrapper_stub
#define plh_profile_string string_stub
#define plh_current_stack stack_stub
#define plh_current_site site_stub
#define site_of planned_site_of
#include "sampler/planned_failure.c"

static MemoryContextData somewhere_named = {.name = "some context"};

/* Does an allocation fail that has these frames? */
static bool
fails_at(uintptr_t innermost, uintptr_t next, uintptr_t outermost)
{
	frames[0] = innermost;
	frames[1] = next;
	frames[2] = outermost;
	frame_count = 3;
	return plh_planned_failure_is_due(&somewhere_named, 64);
}

/* Does one fail whose frames don't matter? */
static bool
fails(void)
{
	return fails_at(OF_SERVER, OF_SERVER, OF_SERVER);
}

static void
test_number(void)
{
	PlhPlannedFailure planned = {.number = 3};

	ok(!fails(), "nothing fails that is not planned");
	plh_planned_failure = &planned;
	ok(!fails() && !fails(), "allocations before the planned one do not fail");
	ok(planned.site == 0, "it has not come");
	ok(fails(), "the planned one fails");
	ok(planned.site == SITE && planned.size == 64, "its site and size are noted");
	ok(!fails() && planned.passed == 4, "those after it do not fail, and count");

	planned = (PlhPlannedFailure)
	{
		.number = 1,.is_dry = true
	};
	ok(!fails() && planned.site == SITE, "one that is only looked at does not fail");
	planned = (PlhPlannedFailure)
	{
		0
	};
	ok(!fails() && planned.passed == 1, "with the number 0 none fails, and all count");
	plh_planned_failure_forget();
	ok(!fails() && planned.passed == 1, "what a parent planned is forgotten");
}

static void
test_places(void)
{
	PlhPlannedFailure planned = {0};

	plh_planned_failure = &planned;
	failure_is_survived = false;
	(void) fails();
	failure_is_survived = true;
	ok(planned.passed == 0, "where no allocation may fail, none counts");
	plh_guard_held = true;
	(void) fails();
	plh_guard_held = false;
	ok(planned.passed == 0, "our own allocations do not count");

	planned_lifetime = PLH_LIFETIME_SESSION;
	(void) fails_at(OF_SERVER, OF_EXTENSION, OF_SERVER);
	ok(planned.passed == 0, "memory of the session that the server asks for does not count");
	(void) fails_at(OF_WRAPPER, OF_SERVER, OF_EXTENSION);
	ok(planned.passed == 0, "nor where it does so by a function that allocates for its caller");
	(void) fails_at(OF_EXTENSION, OF_SERVER, OF_SERVER);
	ok(planned.passed == 1, "that which an extension asks for does");
	(void) fails_at(OF_WRAPPER, OF_EXTENSION, OF_SERVER);
	ok(planned.passed == 2, "by such a function, too");
	(void) fails_at(OF_SERVER, OF_WRAPPER, OF_EXTENSION);
	ok(planned.passed == 3, "and by a function without a name inside of it");
	planned_lifetime = PLH_LIFETIME_STATEMENT;
	ok(!plh_guard_held, "the guard is let go");
	plh_planned_failure_forget();
}

void
test_planned_failure(void)
{
	bool		was_held = plh_guard_held;	/* by the tests before */

	plh_guard_held = false;
	test_number();
	test_places();
	plh_guard_held = was_held;
}
