/*
 * checked_statement.c
 *	  Runs the statement of a leak check, which may be several, by SPI.
 *
 * SPI could run them all at once, but then a FETCH would go by the snapshot that the cursor before
 * it has registered, and SPI would change that: servers with assertions end there.  So each is
 * given to SPI by itself.
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "nodes/parsenodes.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/resowner.h"

#include "check/checked_statement.h"
#include "check/proven_loss.h"
#include "profile/profile_records.h"
#include "profile/profile_file.h"
#include "profile/profile_image.h"

/* Error context callback: the error is in this text. */
static void
point_into_text(void *arg)
{
	int			position = geterrposition();

	if (position <= 0)
		return;
	errposition(0);
	internalerrposition(position);
	internalerrquery(arg);
}

void
plh_checked_statement_begin_pointing(ErrorContextCallback *pointing, const char *text)
{
	pointing->previous = error_context_stack;
	pointing->callback = point_into_text;
	pointing->arg = unconstify(char *, text);
	error_context_stack = pointing;
}

/*
 * Returns the RawStmts of a text.  A syntax error is an ERROR that points into this text, not into
 * the statement of the client.
 */
List *
plh_checked_statement_parse(const char *text)
{
	ErrorContextCallback pointing;
	List	   *parsed;

	plh_checked_statement_begin_pointing(&pointing, text);
	parsed = pg_parse_query(text);
	error_context_stack = pointing.previous;
	return parsed;
}

List *
plh_checked_statement_split(const char *text)
{
	List	   *parsed = plh_checked_statement_parse(text);
	List	   *statements = NIL;
	ListCell   *cell;

	if (parsed == NIL)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("there is no statement to check")));
	foreach(cell, parsed)
	{
		const RawStmt *statement = lfirst_node(RawStmt, cell);
		const char *start = text + Max(0, statement->stmt_location);

		/* the last one goes to the end of the text */
		statements = lappend(statements, statement->stmt_len > 0 ?
							 pnstrdup(start, statement->stmt_len) :
							 pstrdup(start));
	}
	return statements;
}

/* Turn SPI's refusal of a statement into an error; others it throws itself. */
static void
check_result(int result)
{
	if (result == SPI_ERROR_TRANSACTION)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("pg_leakhunt_check cannot run transaction commands"),
						errdetail("All iterations run in the transaction of the caller.")));
	if (result == SPI_ERROR_COPY)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("pg_leakhunt_check cannot COPY to or from the client")));
	if (result < 0)
		elog(ERROR, "SPI_execute_extended failed: %s", SPI_result_code_string(result));
}

/* Run the statements.  Returns SPI's refusal of one, or its last result. */
static int
run_all(const List *statements)
{
	SPIExecuteOptions options = {.dest = None_Receiver};
	ListCell   *cell;
	int			result = 0;

	foreach(cell, statements)
	{
		result = SPI_execute_extended(lfirst(cell), &options);
		if (result < 0)
			break;
	}
	return result;
}

/*
 * Go back to a level of transactions.  An error may have left more than one subtransaction open:
 * that which a PL has just begun for its own use is its caller's to end.
 */
static void
roll_back(int level, MemoryContext context, ResourceOwner owner)
{
	while (GetCurrentTransactionNestLevel() > level)
	{
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
	}
	CurrentResourceOwner = owner;
}

/*
 * Throw an ERROR if the statement has ended the subtransaction that it ran in.  Then SPI may have
 * given up our connection, and freed our memory, too: nothing can be done but end.
 */
static void
check_still_in(SubTransactionId subtransaction)
{
	if (SubTransactionIsActive(subtransaction))
		return;
	FlushErrorState();
	ereport(ERROR, (errcode(ERRCODE_EXTERNAL_ROUTINE_INVOCATION_EXCEPTION),
					errmsg("the statement ended a subtransaction that it had not begun"),
					errhint("An error handler that rolls back a subtransaction does this if BeginInternalSubTransaction itself has failed. Call that before PG_TRY.")));
}

/*
 * Let an error end the execution only, unless it is to end all of it, or somebody has cancelled
 * that.
 */
static void
take_error(PlhExecution *execution, ErrorData *error)
{
	if (!execution->takes_errors || error->sqlerrcode == ERRCODE_QUERY_CANCELED)
		ReThrowError(error);
	execution->raised = true;
	if (execution->error_memory != NULL)
		execution->error = MemoryContextStrdup(execution->error_memory,
											   error->message != NULL ? error->message : "");
	FreeErrorData(error);
}

/*
 * Run the statements once and drop their results.
 *
 * Sites are told apart by their stacks, which hold the return addresses in this function and its
 * callers.  All executions must therefore come here by the same call instruction.
 */
static void
execute(const List *statements, PlhExecution *execution)
{
	MemoryContext caller_context = CurrentMemoryContext;
	ResourceOwner caller_owner = CurrentResourceOwner;
	int			level = GetCurrentTransactionNestLevel();
	SubTransactionId subtransaction;
	ErrorData  *volatile error = NULL;
	volatile int result = 0;

	if (execution->roll_back)
	{
		BeginInternalSubTransaction(NULL);
		MemoryContextSwitchTo(caller_context);
	}
	subtransaction = GetCurrentSubTransactionId();
	PG_TRY();
	{
		plh_planned_failure = execution->failure;
		result = run_all(statements);
		plh_planned_failure = NULL;
	}
	PG_CATCH();
	{
		plh_planned_failure = NULL;
		check_still_in(subtransaction);
		if (!execution->roll_back)
			PG_RE_THROW();
		MemoryContextSwitchTo(caller_context);
		error = CopyErrorData();
		FlushErrorState();
	}
	PG_END_TRY();
	check_still_in(subtransaction);
	if (execution->roll_back)
		roll_back(level, caller_context, caller_owner);
	if (error != NULL)
		take_error(execution, error);
	check_result(result);
}

pg_noinline void
plh_checked_statement_execute(const List *statements, PlhExecution *execution)
{
	volatile int wanted = client_min_messages;

	/* the client has seen notices and warnings once, in the first execution */
	if (!execution->aloud)
		client_min_messages = ERROR;
	PG_TRY();
	{
		execute(statements, execution);
	}
	PG_FINALLY();
	{
		/* the statement may have set it meanwhile */
		if (client_min_messages == ERROR)
			client_min_messages = wanted;
	}
	PG_END_TRY();
}

/* Throw an ERROR for lost samples: they may be a leak, or make one look small. */
static void
check_nothing_lost(const PlhCheckRun *run)
{
	int64		lost = plh_profile_image_lost_samples(plh_profile) - run->lost_before;

	if (lost > 0)
		ereport(ERROR, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
						errmsg("pg_leakhunt_check could not follow all allocations"),
						errdetail("%lld of them did not fit into the profile, or were made in a critical section.",
								  (long long) lost),
						run->plan->bounded ?
						errhint("Checks by roles without privileges of \"%s\" may use %d kB of a session's profile. Run fewer iterations in a new session, or run the check as another role.",
								"pg_read_all_stats", PLH_BOUNDED_ROOM / 1024) :
						errhint("Run fewer iterations in a new session, or raise pg_leakhunt.max_live_samples and pg_leakhunt.max_profile_size.")));
}

void
plh_checked_statement_settle(const PlhCheckRun *run)
{
	check_nothing_lost(run);
	InvalidateSystemCaches();
}

void
plh_checked_statement_prove(const PlhCheckRun *run, PlhCheckLoss *loss)
{
	MemoryContext caller_context = MemoryContextSwitchTo(run->memory);
	const PlhProof *proof = run->plan->prove();

	MemoryContextSwitchTo(caller_context);
	if (proof == NULL && run->plan->iterations < 2)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("pg_leakhunt_check could not prove what is lost"),
						errhint("With 2 iterations or more it finds what grows, too, which needs no proof.")));
	run->check->proof = proof;
	loss->is_proven = proof != NULL;
	loss->lost = plh_proven_loss_of(proof, run->memory);
}

void
plh_checked_statement_set_loss(PlhLeakHalves *halves, const PlhCheckLoss *start,
							   const PlhCheckLoss *end)
{
	if (!start->is_proven || !end->is_proven)
		return;
	halves->lost_at_start = &start->lost;
	halves->lost_at_end = &end->lost;
}
