/*
 * may_fail.c
 *	  Where the server survives an allocation that fails.
 *
 * This code runs inside palloc.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/memutils.h"

#include "sampler/may_fail.h"

/* Errors are made in this context, or in one below it. */
static bool
is_of_error(MemoryContext context)
{
	while (context != NULL && context != ErrorContext)
		context = context->parent;
	return context != NULL;
}

/*
 * Does an allocation that fails there become an ERROR, and that the end of a transaction
 * that is in progress?  In a critical section it would be a PANIC; while an error is
 * handled, or a transaction aborted, there would be one error after another.  Interrupts
 * are held off while locks of the server are held, and while a transaction is committed
 * or aborted.  While a PL begins a subtransaction, from 17 on, an error ends the session.
 */
bool
plh_may_fail(MemoryContext context)
{
	return CritSectionCount == 0 && InterruptHoldoffCount == 0 &&
		QueryCancelHoldoffCount == 0 && PG_exception_stack != NULL &&
		!ExitOnAnyError && !proc_exit_inprogress && IsTransactionState() &&
		!is_of_error(context) && !is_of_error(CurrentMemoryContext);
}
