/*
 * statement_peaks.c
 *	  What the statement that runs takes at its peak, told to the file of statements.
 *
 * This code runs inside palloc.
 *
 * A statement begins here with its first sample that is kept, and ends with the first of another
 * one, or with its transaction: one that has no sample costs nothing.  A procedure may go on after
 * its transaction: so what was told then is told again when it has become more.  While a statement
 * grows it is told of now and then, so that it is seen while it runs, and after it was killed.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/proc.h"

#include "base/page_layout.h"
#include "base/process_facts.h"
#include "base/sampling.h"
#include "base/settings.h"
#include "profile/profile_counters.h"
#include "profile/profile_file.h"
#include "profile/profile_records.h"
#include "profile/shared_addresses.h"
#include "profile/statement_entries.h"
#include "profile/statement_tokens.h"
#include "profile/statements_file.h"
#include "sampler/lifetime.h"
#include "sampler/memory_limits.h"
#include "sampler/statement_peaks.h"

/* A statement that has been told of is told of again when it has grown by a half. */
#define GROWTH_PART 2

/* The most stacks in which a frame is looked for that most of its memory went through. */
#define MOST_STACKS 4096

static struct
{
	bool		has_run;		/* a statement runs, or has been paused */
	uint32		statement;		/* offset in the profile; 0: no room there */
	TimestampTz start;
	int64		paused_peak;	/* peak_live_bytes while it is paused */
	PlhStatementShare base;		/* what lived at its first sample */
	PlhStatementShare told;
	int64		allowed_bytes;	/* when it was last told of */
}			state;

/* What the statement has taken at its peak so far. */
static PlhStatementShare
current_share(void)
{
	const PlhRun *run = &plh_profile_run;
	PlhStatementShare share = {
		.peak_bytes = (plh_profile_run_is_paused() ? state.paused_peak : run->peak_live_bytes) -
		state.base.peak_bytes,
		.variance = Max(run->peak_variance - state.base.variance, 0.0),
		.samples = Max(run->peak_samples - state.base.samples, 1),
		.private_bytes = run->private_bytes
	};

	return share;
}

/* When the statement is told of next, while it grows. */
static void
set_due(void)
{
	int64		told_bytes = state.told.peak_bytes;
	int64		more = Max(told_bytes + told_bytes / GROWTH_PART + 1, plh_statement_min_bytes);

	plh_profile_run.due_bytes = state.base.peak_bytes + more;
	plh_profile_run.is_due = false;
}

/* The session that the call is of: a parallel worker's leader. */
static void
note_session(PlhStatementPart *part)
{
	const PGPROC *proc = MyProc;

	if (proc != NULL && ParallelWorkerNumber >= 0 && proc->lockGroupLeader != NULL)
		proc = proc->lockGroupLeader;
	part->session = proc == NULL ? 0 : proc - ProcGlobal->allProcs;
	part->pid = proc == NULL ? (int32) getpid() : proc->pid;
}

/*
 * Note the innermost frames that most of it went through.  A site of less than one in MOST_STACKS
 * is taken to have none of them: so shares are never too high, and no more stacks are looked at.
 */
static void
find_shared(PlhStatementPart *part, int64 all_kb)
{
	PlhSharedChain *chain = &part->shared;
	PlhSharedAddresses shared;
	const PlhSharedFrame *frame = NULL;
	const PlhSiteRecord *site;
	uint32		position = 0;

	if (!plh_shared_addresses_begin(&shared))
		return;
	while ((site = plh_profile_image_next_site(part->image, &position)) != NULL)
	{
		int64		kb = plh_profile_counters_run_kb(site);

		if (kb > all_kb / MOST_STACKS)
			plh_shared_addresses_add(&shared, (double) kb,
									 plh_profile_image_stack(part->image, site->key.stack));
	}
	shared.frames.bytes = (double) all_kb;
	while (chain->count < PLH_STATEMENT_SHARED &&
		   (frame = plh_shared_frames_next(&shared.frames, frame)) != NULL)
	{
		chain->percents[chain->count] = (uint8) (100 * frame->bytes / all_kb + 0.5);
		chain->frames[chain->count++] = *(const PlhFrame *) frame->what;
	}
	plh_shared_addresses_end(&shared);
}

/* Find the site that held most of what the statement took, and what most sites have in common. */
static void
find_top(PlhStatementPart *part)
{
	const PlhProfileImage *image = plh_profile_image_own(plh_profile);
	const PlhSiteRecord *site;
	uint32		position = 0;
	int64		most_kb = 0;
	int64		all_kb = 0;

	part->image = image;
	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		int64		kb = plh_profile_counters_run_kb(site);

		all_kb += Max(kb, 0);
		if (kb > most_kb)
		{
			most_kb = kb;
			part->top = site;
		}
	}
	part->top_bytes = most_kb * 1024;
	if (most_kb < PLH_SHARED_PART * all_kb)
		find_shared(part, all_kb);
}

/* What settings allow that statement, which may have followed a SET at once. */
static int64
allowed_bytes(const PlhStatementPart *part)
{
	plh_memory_limits_note(plh_profile);
	return plh_statement_tokens_may_maintain(part->text, part->text_bytes) ?
		Max(plh_profile->node_memory_bytes, plh_profile->maintenance_bytes) :
		plh_profile->node_memory_bytes;
}

/* Tell of the statement, whose share is worth it.  Returns false if that fails. */
static bool
tell(const PlhStatementShare *share, bool is_running)
{
	bool		was_told;
	PlhStatementPart part = {
		.text = "",
		.encoding = GetDatabaseEncoding(),
		.database_oid = MyDatabaseId,
		.role_oid = GetOuterUserId(),
		.process_pid = plh_profile->pid,
		.start = state.start,
		.peak_at = plh_profile_run.peak_at,
		.sample_interval = plh_profile->sample_interval,
		.share = *share,
		.told = state.told
	};

	if (state.statement != 0)
	{
		const PlhStatementRecord *statement = plh_profile_records_at(state.statement);

		part.query_id = statement->query_id;
		part.text = statement->text;
		part.text_bytes = statement->text_bytes;
	}
	note_session(&part);

	/* settings may have changed since the statement was over */
	if (is_running || state.allowed_bytes == 0)
		state.allowed_bytes = allowed_bytes(&part);
	part.allowed_bytes = state.allowed_bytes;
	if (plh_statement_entries_is_highest(&part))
		find_top(&part);
	was_told = plh_statement_entries_tell(&part);
	state.told = part.told;
	return was_told;
}

/* By the lower end of the estimate: one sample may stand for megabytes, but be of kilobytes. */
static bool
is_worth(const PlhStatementShare *share)
{
	return share->peak_bytes >= plh_statement_min_bytes &&
		(state.told.peak_bytes > 0 ||
		 share->peak_bytes - plh_sampling_error_bytes(share->variance, share->peak_bytes,
													  share->samples) >=
		 plh_statement_min_bytes);
}

/* Tell of the statement if there is something new.  Returns false if that fails. */
static bool
tell_news(bool is_running)
{
	PlhStatementShare share;

	/* the kernel is asked only where there may be news that are worth it */
	if (is_running)
		plh_profile_run.private_bytes = Max(plh_profile_run.private_bytes,
											plh_process_facts_own_bytes());
	share = current_share();
	if (!is_worth(&share) ||
		(share.peak_bytes == state.told.peak_bytes &&
		 share.private_bytes == state.told.private_bytes && state.allowed_bytes != 0))
		return true;
	return tell(&share, is_running);
}

void
plh_statement_peaks_pause(void)
{
	if (!state.has_run || plh_profile_run_is_paused())
		return;
	state.paused_peak = plh_profile_run.peak_live_bytes;
	plh_profile_run.peak_live_bytes = PG_INT64_MAX;
}

void
plh_statement_peaks_resume(void)
{
	if (state.has_run)
		plh_profile_run.peak_live_bytes = state.paused_peak;
}

void
plh_statement_peaks_end(void)
{
	if (!state.has_run)
		return;
	if (!tell_news(false))
		plh_statement_entries_count_lost();
	state.has_run = false;
	plh_profile_run.peak_live_bytes = PG_INT64_MAX;
}

void
plh_statement_peaks_begin(uint32 statement, TimestampTz start)
{
	const PlhRun *run = &plh_profile_run;

	if (plh_statements_file == NULL)
		return;
	plh_profile_counters_begin_run();
	memset(&state, 0, sizeof(state));
	state.has_run = true;
	state.statement = statement;
	state.start = start;
	state.base.peak_bytes = run->peak_live_bytes;
	state.base.variance = run->peak_variance;
	state.base.samples = run->peak_samples;
	set_due();
}

void
plh_statement_peaks_rename(uint32 statement)
{
	state.statement = statement;
	plh_statement_peaks_go_on();
}

void
plh_statement_peaks_grown(void)
{
	(void) tell_news(true);
	set_due();
}

/* Of a transaction block, the statement that had the last sample may be over for long. */
PLH_EVERY_PROCESS void
plh_statement_peaks_transaction_over(void)
{
	if (!state.has_run)
		return;
	(void) tell_news(false);
	plh_statement_peaks_pause();
}

PLH_EVERY_PROCESS void
plh_statement_peaks_forget(void)
{
	memset(&state, 0, sizeof(state));
}
