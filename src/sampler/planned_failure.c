/*
 * planned_failure.c
 *	  Lets one allocation of a statement fail, the n-th, as a test of it asks for.
 *
 * This code runs inside palloc.
 */
#include "postgres.h"

#include "base/fork.h"
#include "base/guard.h"
#include "base/page_layout.h"
#include "sampler/context_name.h"
#include "sampler/current_site.h"
#include "sampler/lifetime.h"
#include "sampler/process_limit.h"
#include "sampler/planned_failure.h"
#include "stack/modules.h"
#include "stack/allocation_wrappers.h"

PlhPlannedFailure PLH_SURVIVES_FORK *plh_planned_failure;	/* see forget */

/*
 * Does code outside of the server ask for it, by itself or by functions that allocate for their
 * callers?  A function without a name that such a one calls is part of it.
 */
static bool
is_of_extension(const PlhStack *stack)
{
	const PlhModule *server = plh_modules_executable();

	for (int i = 0; i < stack->depth; i++)
	{
		uintptr_t	address = stack->addresses[i] - 1;

		if (plh_modules_find(address) != server)
			return true;
		if (!plh_allocation_wrappers_have(address) &&
			(i + 1 >= stack->depth ||
			 !plh_allocation_wrappers_have(stack->addresses[i + 1] - 1)))
			return false;
	}
	return false;
}

/*
 * Is it memory of the session, in the server's own tables and caches?  These don't survive that: a
 * lock whose owners got no memory, or statistics without what they count, crash the server later in
 * the same transaction.
 */
static pg_noinline bool
is_of_server(MemoryContext context)
{
	PlhStack	stack;

	if (!plh_lifetime_is_lasting(plh_lifetime_of(context)))
		return false;
	plh_current_stack(&stack, 1);
	return !is_of_extension(&stack);
}

/* Returns the site of the allocation, as an offset in the profile. */
static pg_noinline uint32
site_of(MemoryContext context)
{
	uint32		name = plh_profile_string(plh_context_name(context), PLH_CONTEXT_NAME_MAX);
	PlhStack	stack;

	plh_current_stack(&stack, 1);
	return plh_current_site(&stack, name, plh_lifetime_of(context));
}

bool
plh_planned_failure_take(MemoryContext context, Size size)
{
	PlhPlannedFailure *planned = plh_planned_failure;
	int			saved_errno = errno;
	bool		is_due;

	if (plh_guard_held || !plh_process_limit_may_fail(context))
		return false;
	plh_guard_held = true;
	is_due = !is_of_server(context) && ++planned->passed == planned->number;
	if (is_due)
	{
		planned->site = site_of(context);
		planned->size = size;
	}
	plh_guard_held = false;
	errno = saved_errno;
	return is_due && !planned->is_dry;
}

PLH_EVERY_PROCESS void
plh_planned_failure_forget(void)
{
	plh_planned_failure = NULL;
}
