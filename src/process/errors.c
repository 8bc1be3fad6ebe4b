/*
 * errors.c
 *	  Runs work on files whose ERRORs must not reach the caller.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "process/errors.h"

static bool
catch_errors(void (*work) (void *arg), void *arg, const char *failure, bool of_file)
{
	MemoryContext caller_context = CurrentMemoryContext;
	MemoryContext work_context = AllocSetContextCreate(CurrentMemoryContext, "pg_leakhunt files",
													   ALLOCSET_DEFAULT_SIZES);
	uint32		holdoff_count = InterruptHoldoffCount;
	volatile bool done = false;

	MemoryContextSwitchTo(work_context);
	PG_TRY();
	{
		work(arg);
		done = true;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		/* an ERROR lets interrupts in, which the caller may be holding off */
		InterruptHoldoffCount = holdoff_count;
		MemoryContextSwitchTo(work_context);
		error = CopyErrorData();
		FlushErrorState();
		ereport(!of_file ? WARNING : error->sqlerrcode == ERRCODE_UNDEFINED_FILE ? DEBUG1 : LOG,
				(errmsg_internal("%s", failure), errdetail_internal("%s", error->message)));
	}
	PG_END_TRY();
	MemoryContextSwitchTo(caller_context);
	MemoryContextDelete(work_context);
	return done;
}

bool
plh_errors_catch(void (*work) (void *arg), void *arg, const char *failure)
{
	return catch_errors(work, arg, failure, false);
}

bool
plh_errors_catch_of_file(void (*work) (void *arg), void *arg, const char *failure)
{
	return catch_errors(work, arg, failure, true);
}
