/*
 * proof_orders.c
 *	  Has processes proven that have a new finding, one at a time, within a budget.
 *
 * A process is proven once when a finding is new, and again when it has become so many times as
 * large.  Of those that wait, the one whose finding is largest comes first.  A pause follows each
 * proof, so that all of them together take a thousandth of a processor.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/procsignal.h"
#include "utils/timestamp.h"

#include "base/clock.h"
#include "base/fork.h"
#include "base/process_facts.h"
#include "base/settings.h"
#include "process/profile_directory.h"
#include "reader/machine_memory.h"
#include "reader/proof_file.h"
#include "sampler/doorbell.h"
#include "sampler/errands.h"
#include "watch/proof_orders.h"

/* All proofs that nobody asked for take this part of a processor. */
#define PROCESSOR_PART 1000

/* So long an order is waited for: the process may be where it does not answer. */
#define PATIENCE_US INT64CONST(60000000)

/* What a proof takes is not known before: so much for each GB, and for a small process. */
#define GB_US INT64CONST(4000000)
#define LEAST_US INT64CONST(30000)

/* A smaller finding is not worth it. */
#define LEAST_BYTES INT64CONST(131072)

/*
 * The child takes a twentieth of what it looks at, and the process may write to all of its pages
 * meanwhile, of which the kernel makes copies.
 */
#define ROOM_PART 4

/* Only the keeper uses this. */
static PLH_SURVIVES_FORK struct
{
	int			wanted_pid;		/* of the largest finding in this look; 0:
								 * none */
	uint64		wanted_start;
	int64		wanted_bytes;	/* the larger one of these */
	int64		wanted_finding_bytes;
	int64		wanted_begun_bytes;
	int64		wanted_memory;	/* of that process */

	int			ordered_pid;	/* 0: none */
	uint32		request;
	int64		ordered_finding_bytes;
	int64		ordered_begun_bytes;
	uint64		ordered_start;
	TimestampTz ordered_at;
	int64		ordered_us;		/* the same, monotonic */
	int64		next_us;		/* the next order may be given then, monotonic */
}			state;

/* What is left to be proven right after a proof is nothing new. */
static void
note_proof(PlhWatchedProcess *process, const PlhProof *proof, int64 begun_bytes)
{
	if (proof == NULL || proof->at == process->proven_at)
		return;
	process->proven_at = proof->at;
	process->unproven_bytes = begun_bytes;
}

/* Is it worth a proof, of which the last was made when it had "before" bytes? */
static bool
is_worth_it(int64 bytes, int64 before)
{
	return bytes >= LEAST_BYTES && bytes / PLH_WATCHED_GROWTH >= before;
}

void
plh_proof_orders_want(PlhWatchedProcess *process, const PlhProfileImage *image,
					  int64 finding_bytes, int64 begun_bytes)
{
	const PlhProfileHeader *header = image->header;
	int64		bytes = Max(finding_bytes, begun_bytes);

	note_proof(process, image->proof, begun_bytes);
	if ((!is_worth_it(finding_bytes, process->proven_bytes) &&
		 !is_worth_it(begun_bytes, process->unproven_bytes)) ||
		header->own_bytes > (int64) plh_proof_max_memory * 1024)
		return;

	/* it says so again until it is proven */
	process->awaits = true;
	if (bytes <= state.wanted_bytes)
		return;
	state.wanted_pid = header->pid;
	state.wanted_start = header->process_start;
	state.wanted_bytes = bytes;
	state.wanted_finding_bytes = finding_bytes;
	state.wanted_begun_bytes = begun_bytes;
	state.wanted_memory = header->own_bytes;
}

static void
pause_for(int64 used_us)
{
	state.next_us = plh_clock_us(CLOCK_MONOTONIC) + plh_keeper_time(used_us * PROCESSOR_PART);
}

/* What was ordered is not worth it again before it has grown. */
static void
note_order(void)
{
	PlhWatchedProcess *process = plh_watched_processes_known(state.ordered_pid);

	if (process == NULL)
		return;
	process->proven_bytes = Max(process->proven_bytes, state.ordered_finding_bytes);
	process->unproven_bytes = Max(process->unproven_bytes, state.ordered_begun_bytes);
}

/*
 * Is the process proven?  Then its child is not to stay as a zombie, and it is worth a look.  One
 * that could not fork may be able to when it is ordered again.
 */
static void
follow_up(void)
{
	const PlhProof *proof;
	bool		has_answered;
	bool		is_at_work;
	int64		child = 0;

	if (state.ordered_pid == 0)
		return;
	has_answered = plh_errands_is_done(PLH_ERRAND_PROVE, state.ordered_pid, state.request, &child);
	is_at_work = has_answered ? child > 0 && plh_process_facts_rss_anon_bytes((int) child) >= 0 :
		plh_clock_us(CLOCK_MONOTONIC) - state.ordered_us < plh_keeper_time(PATIENCE_US);
	proof = plh_proof_file_read(plh_profile_directory_path(), state.ordered_pid,
								state.ordered_start);
	if (proof != NULL && proof->at >= state.ordered_at)
	{
		pause_for(proof->fork_us + proof->child_us);
		plh_watched_processes_look_again(state.ordered_pid);
	}
	else if (is_at_work)
		return;
	if (child >= 0)
		note_order();
	(void) SendProcSignal(state.ordered_pid, PLH_DOORBELL, -1);
	state.ordered_pid = 0;
}

/* May the child take what it needs without the kernel killing anybody? */
static bool
has_room(void)
{
	int64		needed = state.wanted_memory + state.wanted_memory / ROOM_PART;
	PlhMachineMemory memory;

	return plh_machine_memory_to_promise() > ROOM_PART * needed &&
		(!plh_machine_memory_read(&memory) || memory.available_bytes > ROOM_PART * needed);
}

static void
order(void)
{
	state.request = plh_errands_ask(PLH_ERRAND_PROVE, state.wanted_pid);
	if (state.request == 0 || SendProcSignal(state.wanted_pid, PLH_DOORBELL, -1) != 0)
		return;
	pause_for(LEAST_US + (state.wanted_memory >> 20) * GB_US / 1024);
	state.ordered_pid = state.wanted_pid;
	state.ordered_start = state.wanted_start;
	state.ordered_at = GetCurrentTimestamp();
	state.ordered_us = plh_clock_us(CLOCK_MONOTONIC);
	state.ordered_finding_bytes = state.wanted_finding_bytes;
	state.ordered_begun_bytes = state.wanted_begun_bytes;
}

void
plh_proof_orders_give(void)
{
	follow_up();
	if (state.wanted_pid != 0 && state.ordered_pid == 0 &&
		plh_clock_us(CLOCK_MONOTONIC) >= state.next_us && has_room())
		order();

	/* who still wants it says so in the next look */
	state.wanted_pid = 0;
	state.wanted_bytes = 0;
}
