/*
 * exit_dump.c
 *	  The dump of a process that exits, if it is worth one.
 *
 * Each session fills caches, by what it does: one that has seen 500 tables and as
 * many functions holds some 15 MB in contexts of 40 MB, at hundreds of call sites.
 * A leak that began a while ago is at one, and so a site needs to hold less than
 * the process as a whole.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/settings.h"
#include "dump/dump_report.h"
#include "dump/dump_retention.h"
#include "process/dump_texts.h"
#include "process/exit_dump.h"
#include "process/exit_report.h"
#include "process/log_turns.h"
#include "profile/profile_file.h"
#include "sampler/census.h"

/* One call site that holds this part of dump_min_bytes is worth a dump. */
#define SITE_PART 4

/*
 * Contexts of that many times dump_min_bytes are, too, and at least these bytes:
 * blocks are larger than what was allocated in them, by twice in caches.
 */
#define CONTEXTS_TIMES 2
#define CONTEXTS_BYTES (64.0 * 1024 * 1024)

/* A statement may well take this many times what the settings allow. */
#define ALLOWED_TIMES 2

/*
 * An exiting process makes the text of a profile of up to these bytes, in some 10 ms,
 * and leaves that of a larger one to others.
 */
#define TEXT_PROFILE_BYTES ((Size) 1024 * 1024)

/*
 * Is this the process of a client that was refused before it had a database?
 * While the server recovers, these may be thousands, and they hold nothing but
 * what every process begins with.
 */
static bool
was_refused(void)
{
	return IsUnderPostmaster && !OidIsValid(MyDatabaseId) &&
		(MyBackendType == B_INVALID || MyBackendType == B_BACKEND ||
		 MyBackendType == PLH_DEAD_END_BACKEND);
}

/*
 * Does the process hold enough in contexts to matter, sampled or not?  The last census
 * may have counted a query that is over: then the size that the kernel gives is less.
 */
static bool
has_large_contexts(const PlhProfileHeader *header)
{
	return Min(header->context_bytes, header->own_bytes) >=
		Max(CONTEXTS_TIMES * plh_dump_min_bytes, CONTEXTS_BYTES);
}

/*
 * Does the process hold much?  Finds the site that holds most, unless the process
 * as a whole holds too little for one.
 */
static bool
holds_much(const PlhProfileImage *image, PlhTopSite *top)
{
	double		surely_bytes = plh_profile_image_surely_live_bytes(image->header);
	double		site_bytes = plh_dump_min_bytes / SITE_PART;
	bool		has_site = surely_bytes >= site_bytes &&
		plh_top_site_find(top, image, PLH_TOP_NOW);

	return surely_bytes >= plh_dump_min_bytes ||
		(has_site && top->surely_bytes >= site_bytes) ||
		has_large_contexts(image->header);
}

/*
 * Returns from which peak on there is something to be said: settings may allow
 * what vacuums, decodes the log or runs statements more than dump_min_peak.
 */
static double
least_peak(const PlhProfileHeader *header)
{
	bool		maintains = MyBackendType == B_AUTOVAC_WORKER ||
		MyBackendType == B_WAL_SENDER;
	int64		allowed_bytes = maintains ? header->maintenance_bytes :
		header->node_memory_bytes;

	return Max(plh_dump_min_peak, (double) ALLOWED_TIMES * allowed_bytes);
}

/*
 * Tell of the dump in the log.  Returns false, and tells nothing, if its role has had
 * its turns.
 */
static bool
report(const PlhExitFindings *findings, const PlhDumpResult *result)
{
	PlhLogTurn	turn;

	if (!plh_log_summary && result->failure == 0)
		return true;
	if (!plh_log_turns_take(findings->image->header->role_oid, &turn))
		return false;
	if (plh_log_summary)
		plh_exit_report(findings, result, &turn);
	plh_dump_report(result, WARNING);
	return true;
}

/*
 * Write a dump of this process, and report it, if the settings ask for one and it
 * is worth while.
 *
 * It is not synced: at a stop of the server, all sessions would wait for the disk
 * here (dump_copy.c says what may be lost).
 */
void
plh_exit_dump_write(void)
{
	const PlhDumpExtras extras = {.reason = "exit"};
	PlhExitFindings findings = {0};
	PlhDumpResult result;
	int			failure;
	bool		reported;

	if (!plh_dump_on_exit || was_refused())
		return;
	plh_census_note_own_bytes();
	findings.image = plh_profile_image_own(plh_profile);
	findings.holds_much = holds_much(findings.image, &findings.held);
	findings.had_much =
		plh_profile_image_peak_bytes(plh_profile) >= least_peak(plh_profile);
	if (!findings.holds_much && !findings.had_much)
		return;
	(void) plh_dump_copy_write(findings.image, &extras, &result);
	reported = report(&findings, &result);
	if (result.failure != 0)
		return;
	if (findings.image->bytes <= TEXT_PROFILE_BYTES)
		(void) plh_dump_texts_write(result.path, findings.image, extras.reason,
									GetCurrentTimestamp());
	failure = plh_dump_retention_trim_sometimes();
	if (reported)
		plh_dump_report_removal(failure);
}
