/*
 * sql_prove.c
 *	  Has a process proven, and waits for the proof.
 *
 * The process forks a child where it checks for interrupts, which an idle session does at once.
 * The file of the proof appears when the child is done.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "storage/procarray.h"
#include "storage/procsignal.h"
#include "utils/timestamp.h"

#include "base/process_facts.h"
#include "functions/sql_access.h"
#include "functions/sql_errand.h"
#include "functions/sql_prove.h"
#include "process/profile_directory.h"
#include "proof/proof.h"
#include "reader/proof_file.h"
#include "sampler/doorbell.h"
#include "sampler/errands.h"

/* A process that is at work checks for interrupts within this, or is stuck. */
#define ANSWER_WAIT_US INT64CONST(10000000)

#define STEP_MS 5

static void
wait_a_step(void)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | WL_TIMEOUT,
					 STEP_MS, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/* Let the process look after its child, or begin. */
static bool
ring(int pid)
{
	if (pid != MyProcPid)
		return SendProcSignal(pid, PLH_DOORBELL, -1) == 0;
	plh_proof_if_asked();
	return true;
}

/*
 * Have the process begin.  False: it has not answered.  Else *child is its pid, or an errno below
 * 0.
 */
static bool
begin(int pid, int64 *child)
{
	uint32		request = plh_errands_ask(PLH_ERRAND_PROVE, pid);

	return request != 0 && ring(pid) &&
		plh_sql_errand_wait(PLH_ERRAND_PROVE, pid, request, ANSWER_WAIT_US, child);
}

static void
report_no_answer(int pid)
{
	ereport(WARNING, (errmsg("process %d has not answered", pid),
					  errdetail("It begins when it checks for interrupts, which a session does while it is idle, and between the rows of most statements.")));
}

/* One that is asked for a proof shows itself.  Others than sessions and workers are not asked. */
bool
plh_sql_prove_introduce(int pid, PlhBegunProof *begun)
{
	*begun = (PlhBegunProof)
	{
		0, GetCurrentTimestamp()
	};
	if (plh_profile_reader_find(plh_profile_directory_path(), pid, true) != NULL ||
		BackendPidGetProc(pid) == NULL || !plh_sql_access_may_have_loaded(pid) ||
		!plh_sql_access_knows(pid) || begin(pid, &begun->child))
		return true;
	report_no_answer(pid);
	return false;
}

static const PlhProof *
read_since(const PlhProfileImage *image, TimestampTz since)
{
	const PlhProof *proof = plh_proof_file_read(plh_profile_directory_path(), image->header->pid,
												image->header->process_start);

	return proof != NULL && proof->at >= since ? proof : NULL;
}

/* Wait until the child is gone, with or without a proof. */
static const PlhProof *
wait_for(const PlhProfileImage *image, int64 child, TimestampTz since)
{
	while (plh_process_facts_rss_anon_bytes((int) child) >= 0 && read_since(image, since) == NULL)
		wait_a_step();
	return read_since(image, since);
}

static void
report_refusal(int pid, int problem)
{
	if (problem == ENOENT)
	{
		ereport(WARNING, (errmsg("process %d could not be proven", pid),
						  errdetail("Its profile is not in the directory of the profiles.")));
		return;
	}
	errno = problem;
	ereport(WARNING, (errmsg("process %d could not be proven: %m", pid),
					  errdetail("It could not fork a child, which looks at a copy of its memory.")));
}

static const char *
reason_of(const PlhProof *proof)
{
	switch ((PlhProofOutcome) proof->outcome)
	{
		case PLH_PROOF_NO_MEMORY:
			return "Its memory did not suffice.";
		case PLH_PROOF_NO_TIME:
			return "It has taken more time than it may.";
		case PLH_PROOF_UNKNOWN_LAYOUT:
			return "Memory contexts do not look as they do in this version of PostgreSQL, as in a server that was built with assertions.";
		default:
			return "Some memory could not be read.";
	}
}

static void
report_no_result(const PlhProfileImage *image)
{
	int			pid = image->header->pid;

	ereport(WARNING, (errmsg("process %d could not be proven", pid),
					  plh_process_facts_is_alive(pid, image->header->process_start) ?
					  errdetail("The child that looked at a copy of its memory has ended without a result, as by the kernel when memory runs out.") :
					  errdetail("It has ended meanwhile.")));
}

static const PlhProof *
checked(const PlhProfileImage *image, const PlhProof *proof)
{
	if (proof == NULL)
		report_no_result(image);
	else if (proof->outcome != PLH_PROOF_PROVEN)
		ereport(WARNING, (errmsg("process %d could not be proven", image->header->pid),
						  errdetail_internal("%s", reason_of(proof))));
	return proof != NULL && proof->outcome == PLH_PROOF_PROVEN ? proof : NULL;
}

/*
 * Have the process begin a proof.  Another one may be at work, whose moment is before the call.
 * Returns false, and says why, if it does not.
 */
static bool
begin_now(int pid, int64 *child)
{
	do
	{
		CHECK_FOR_INTERRUPTS();
		if (!begin(pid, child))
		{
			report_no_answer(pid);
			return false;
		}
		if (*child == -EBUSY)
			wait_a_step();
	} while (*child == -EBUSY);
	if (*child < 0)
		report_refusal(pid, -*child);
	return *child > 0;
}

const PlhProof *
plh_sql_prove(const PlhProfileImage *image, const PlhBegunProof *begun)
{
	int			pid = image->header->pid;
	int64		child = begun->child;
	const PlhProof *proof;

	if (child <= 0 && !begin_now(pid, &child))
		return NULL;
	proof = wait_for(image, child, begun->since);

	/* the child is not to stay as a zombie */
	(void) ring(pid);
	return checked(image, proof);
}
