/*
 * exit_dump.c
 *	  The dump of a process that exits, if it is worth one, and what the log says of it.
 *
 * Each session fills caches, by what it does: one that has seen 500 tables and as many functions
 * holds some 15 MB in contexts of 40 MB, at hundreds of call sites.  A leak that began a while ago
 * is at one, and so a site needs to hold less than the process as a whole.
 *
 * In the log, the primary message has the sums and the file; the detail tells whether somebody
 * should look at it.  What is held at an exit are caches as well as leaks, and the detail says so.
 * A process that holds nothing at its exit is told of for its peak: the primary message has zeros
 * then, as it has one form for programs that read the log.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/fork.h"
#include "base/page_layout.h"
#include "base/plural.h"
#include "base/settings.h"
#include "base/size_units.h"
#include "dump/dump_report.h"
#include "dump/dump_retention.h"
#include "judge/family.h"
#include "process/dump_texts.h"
#include "process/exit_dump.h"
#include "process/log_turns.h"
#include "process/report_detail.h"
#include "process/top_site.h"
#include "profile/dump_copy.h"
#include "profile/profile_file.h"
#include "profile/profile_image.h"
#include "sampler/census.h"

/* Why a process that exits is worth a dump. */
typedef struct ExitFindings
{
	const PlhProfileImage *image;	/* of this process */
	bool		holds_much;		/* it holds as much as dump_min_bytes asks for */
	bool		had_much;		/* it had as much as dump_min_peak asks for */
	PlhTopSite	held;			/* by which it holds most, if it holds much */
} ExitFindings;

/*
 * Samples that were this part of the private memory, each at its peak, tell what that peak was of:
 * a reallocation has both chunks for a moment.
 */
#define PEAK_PART 4

/* One call site that holds this part of dump_min_bytes is worth a dump. */
#define SITE_PART 4

/*
 * Contexts of that many times dump_min_bytes are, too, and at least these bytes: blocks are larger
 * than what was allocated in them, by twice in caches.
 */
#define CONTEXTS_TIMES 2
#define CONTEXTS_BYTES (64.0 * 1024 * 1024)

/* A statement may well take this many times what the settings allow. */
#define ALLOWED_TIMES 2

/*
 * An exiting process makes the text of a profile of up to these bytes, in some 10 ms, and leaves
 * that of a larger one to others.
 */
#define TEXT_PROFILE_BYTES ((Size) 1024 * 1024)

static bool
is_anything_left(const PlhProfileHeader *header)
{
	return header->counters.live_bytes > 0;
}

/* The contexts of a kind, or of a name that is of none. */
typedef struct KindCount
{
	const PlhFamily *family;
	const PlhStringRecord *name;
	int64		bytes;
	int64		contexts;
} KindCount;

/* More kinds than these are not compared: the largest names come early. */
#define KINDS 64

static KindCount *
find_kind(KindCount *kinds, int *used, const PlhFamily *family, const PlhStringRecord *name)
{
	for (int i = 0; i < *used; i++)
		if (kinds[i].family == family && (family != NULL || kinds[i].name == name))
			return &kinds[i];
	if (*used == KINDS)
		return NULL;
	kinds[*used] = (KindCount)
	{
		family, name
	};
	return &kinds[(*used)++];
}

/* The kind of contexts that has most, as counted; no bytes where none is known. */
static KindCount
largest_kind(const PlhProfileImage *image)
{
	KindCount	kinds[KINDS];
	KindCount	largest = {0};
	const PlhContextRecord *record;
	uint32		position = 0;
	int			used = 0;

	while ((record = plh_profile_image_next_context(image, &position)) != NULL)
	{
		const PlhStringRecord *name = plh_profile_image_string(image, record->context_name);
		KindCount  *kind = name == NULL || record->instances <= 0 ? NULL :
			find_kind(kinds, &used, plh_family_of(name->text), name);

		if (kind == NULL)
			continue;
		kind->bytes += record->bytes;
		kind->contexts += record->instances;
		if (kind->bytes > largest.bytes)
			largest = *kind;
	}
	return largest;
}

/* Append the kind of contexts that has most, where that is half of all. */
static void
append_largest_kind(PlhReportDetail *detail, const PlhProfileImage *image)
{
	KindCount	largest = largest_kind(image);

	if (largest.bytes <= 0 || largest.bytes < image->header->context_bytes / 2)
		return;
	plh_report_detail_append(detail, ", %s of that %s %s", plh_size_units(largest.bytes).text,
							 largest.family != NULL ? "for" : "in",
							 largest.family != NULL ? largest.family->title : largest.name->text);
	if (largest.contexts > 1)
		plh_report_detail_append(detail, " (%lld contexts)", (long long) largest.contexts);
}

/* Append what contexts and malloc have, which was counted just now. */
static void
append_counts(PlhReportDetail *detail, const PlhProfileImage *image)
{
	const PlhProfileHeader *header = image->header;
	int64		outside = Max(0, header->malloc_bytes - header->context_bytes);

	plh_report_detail_append(detail, "  At its exit it had %s in memory contexts",
							 plh_size_units(header->context_bytes).text);
	append_largest_kind(detail, image);
	if (header->malloc_bytes >= 0)
		plh_report_detail_append(detail, ", %s allocated with malloc outside of them, %s free in malloc",
								 plh_size_units(outside).text,
								 plh_size_units(header->malloc_free_bytes).text);
	plh_report_detail_append(detail, ".");
}

/* Append what is live, which is no more than was counted, with its error. */
static void
append_held(PlhReportDetail *detail, const ExitFindings *findings)
{
	const PlhProfileHeader *header = findings->image->header;
	int64		bound = plh_profile_image_live_bound(header);
	int64		live_bytes = Min(header->counters.live_bytes, bound);
	int64		error_bytes = (int64) plh_profile_image_live_error_bytes(header);

	if (!is_anything_left(header))
	{
		plh_report_detail_append(detail, "  All that was sampled has been freed.");
		return;
	}
	plh_report_detail_append(detail, "  Samples stand for %s", plh_size_units(live_bytes).text);
	if (error_bytes > 0)
		plh_report_detail_append(detail, " (+/- %s)",
								 plh_size_units_error(error_bytes, live_bytes).text);
	plh_report_detail_append(detail, " of what it held, caches included");
	if (findings->held.bytes > 0)
		plh_report_detail_append_top(detail, findings->image, &findings->held, PLH_TOP_NOW, bound);
	plh_report_detail_append(detail, ".");
}

static void
append_time(PlhReportDetail *detail, TimestampTz at)
{
	plh_report_detail_append(detail, " at %s", timestamptz_to_str(at - at % USECS_PER_SEC));
}

/*
 * Append the peak of what was live, with the site that had most then, unless that was said.  It may
 * be more than any count: that was never taken at the very peak.
 */
static void
append_peak(PlhReportDetail *detail, const ExitFindings *findings, const PlhTopSite *peak)
{
	const PlhProfileHeader *header = findings->image->header;

	if (header->peak_bytes <= 0)
		return;
	plh_report_detail_append(detail, "  Its peak was %s (estimated from samples)",
							 plh_size_units(header->peak_bytes).text);
	append_time(detail, header->peak_at);
	if (peak->bytes > 0 && !plh_top_site_is_same(peak, &findings->held))
		plh_report_detail_append_top(detail, findings->image, peak, PLH_TOP_PEAK, PG_INT64_MAX);
	plh_report_detail_append(detail, ".");
}

/* Append the private memory, where the kernel has told it. */
static void
append_private_memory(PlhReportDetail *detail, const PlhProfileHeader *header)
{
	if (header->own_bytes <= 0)
		return;
	plh_report_detail_append(detail, "  Its private memory was %s at exit, and at most %s when it was counted,",
							 plh_size_units(header->own_bytes).text,
							 plh_size_units(header->own_peak_bytes).text);
	append_time(detail, header->own_peak_at);
	plh_report_detail_append(detail, ".");
}

/* The primary message: the sums, and the file if it was written. */
static int
errmsg_of_sums(const PlhProfileImage *image, const PlhDumpResult *dump)
{
	const PlhCounters *counters = &image->header->counters;
	int64		live_bytes = Min(counters->live_bytes, plh_profile_image_live_bound(image->header));
	const char *bytes = plh_plural(live_bytes, "byte", "bytes");
	const char *objects = plh_plural(counters->live_count, "object", "objects");
	uint32		sites = plh_profile_image_live_sites(image);

	if (dump->failure != 0)
		return errmsg("leak approximation summary: ~%lld %s, ~%lld %s",
					  (long long) live_bytes, bytes,
					  (long long) counters->live_count, objects);
	return errmsg("leak approximation summary: ~%lld %s, ~%lld %s, >= %u call %s in \"%s\"",
				  (long long) live_bytes, bytes,
				  (long long) counters->live_count, objects, sites,
				  plh_plural(sites, "site", "sites"), dump->path);
}

/*
 * The hint, which says what to do next.  A session has the time to look for names of functions.
 */
static int
errhint_of_dump(const PlhProfileHeader *header, const PlhDumpResult *dump)
{
	const char *separator = strrchr(dump->path, '/');

	if (dump->failure != 0)
		return 0;
	return errhint("SELECT * FROM pg_leakhunt_report('%s')%s shows the call sites, with names of functions in place of addresses.",
				   separator != NULL ? separator + 1 : dump->path,
				   is_anything_left(header) ? "" : " ORDER BY peak_bytes DESC");
}

/*
 * Report a process that is worth it.  The peak's site is looked for only where the peak is a
 * reason: it is often that of a moment.
 */
static void
tell_exit(const ExitFindings *findings, const PlhDumpResult *dump, const PlhLogTurn *turn)
{
	/* an exiting process may be out of memory; it is filled here */
	static PLH_SURVIVES_FORK PLH_LARGE PlhReportDetail detail;
	const PlhProfileHeader *header = findings->image->header;
	PlhTopSite	peak = {0};

	/* a peak that was not sampled is that of what malloc or others had */
	if (findings->had_much && header->peak_bytes >= header->own_peak_bytes / PEAK_PART)
		(void) plh_top_site_find(&peak, findings->image, PLH_TOP_PEAK);
	plh_report_detail_begin(&detail);
	plh_report_detail_append_process(&detail, findings->image);
	append_counts(&detail, findings->image);
	append_held(&detail, findings);
	plh_report_detail_append_lost(&detail, findings->image);
	append_peak(&detail, findings, &peak);
	append_private_memory(&detail, header);
	plh_report_detail_append_left_out(&detail, turn, turn->is_shared ?
									  "exit of this and other roles" : "exit of this role",
									  turn->is_shared ?
									  "exits of this and other roles" : "exits of this role");
	plh_report_detail_append_statement(&detail, findings->holds_much ? &findings->held : &peak);
	ereport(LOG, (errmsg_of_sums(findings->image, dump), errdetail_internal("%s", detail.text),
				  errhint_of_dump(header, dump)));
}

/*
 * Is this the process of a client that was refused before it had a database?  While the server
 * recovers, these may be thousands, and they hold nothing but what every process begins with.
 */
static bool
was_refused(void)
{
	return IsUnderPostmaster && !OidIsValid(MyDatabaseId) &&
		(MyBackendType == B_INVALID || MyBackendType == B_BACKEND ||
		 MyBackendType == PLH_DEAD_END_BACKEND);
}

/*
 * Does the process hold enough in contexts to matter, sampled or not?  The last census may have
 * counted a query that is over: then the size that the kernel gives is less.
 */
static bool
has_large_contexts(const PlhProfileHeader *header)
{
	return Min(header->context_bytes, header->own_bytes) >=
		Max(CONTEXTS_TIMES * plh_dump_min_bytes, CONTEXTS_BYTES);
}

/*
 * Does the process hold much?  Finds the site that holds most, unless the process as a whole holds
 * too little for one.
 */
static bool
holds_much(const PlhProfileImage *image, PlhTopSite *top)
{
	double		surely_bytes = plh_profile_image_surely_live_bytes(image->header);
	double		site_bytes = plh_dump_min_bytes / SITE_PART;
	bool		has_site = surely_bytes >= site_bytes && plh_top_site_find(top, image, PLH_TOP_NOW);

	return surely_bytes >= plh_dump_min_bytes ||
		(has_site && top->surely_bytes >= site_bytes) || has_large_contexts(image->header);
}

/*
 * Returns from which peak on there is something to be said: settings may allow what vacuums,
 * decodes the log or runs statements more than dump_min_peak.
 */
static double
least_peak(const PlhProfileHeader *header)
{
	int64		allowed_bytes = MyBackendType == B_AUTOVAC_WORKER ? header->maintenance_bytes :
		MyBackendType == B_WAL_SENDER ? header->decoding_bytes : header->node_memory_bytes;

	return Max(plh_dump_min_peak, (double) ALLOWED_TIMES * allowed_bytes);
}

/*
 * Tell of the dump in the log.  Returns false, and tells nothing, if its role has had its turns.
 */
static bool
report(const ExitFindings *findings, const PlhDumpResult *result)
{
	PlhLogTurn	turn;

	if (!plh_log_summary && result->failure == 0)
		return true;
	if (!plh_log_turns_take(findings->image->header->role_oid, &turn))
		return false;
	if (plh_log_summary)
		tell_exit(findings, result, &turn);
	plh_dump_report(result, WARNING);
	return true;
}

/*
 * Write a dump of this process, and report it, if the settings ask for one and it is worth while.
 *
 * It is not synced: at a stop of the server, all sessions would wait for the disk here (dump_copy.c
 * says what may be lost).
 */
void
plh_exit_dump_write(void)
{
	const PlhDumpExtras extras = {.reason = "exit"};
	ExitFindings findings = {0};
	PlhDumpResult result;
	int			failure;
	bool		reported;

	if (!plh_dump_on_exit || was_refused())
		return;
	plh_census_note_own_bytes();
	findings.image = plh_profile_image_own(plh_profile);
	findings.holds_much = holds_much(findings.image, &findings.held);
	findings.had_much = plh_profile_image_peak_bytes(plh_profile) >= least_peak(plh_profile);
	if (!findings.holds_much && !findings.had_much)
		return;
	plh_census_take_at_exit();
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
