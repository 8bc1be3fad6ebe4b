/*
 * limit_report.c
 *	  Says in the server's log that a process is at its limit, what holds its memory, and what
 *	  comes of it.
 *
 * This comes out of a palloc that may be in any place where an ERROR could be thrown.  Nothing is
 * sent to the client, whose message may be half written, and no context of an error is asked for,
 * as there may be none in the end.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/fork.h"
#include "base/guard.h"
#include "base/page_layout.h"
#include "base/size_units.h"
#include "process/errors.h"
#include "process/limit_report.h"
#include "process/log_turns.h"
#include "process/report_detail.h"
#include "profile/dump_copy.h"
#include "profile/profile_file.h"
#include "profile/profile_image.h"
#include "sampler/context_name.h"

typedef struct Report
{
	const PlhLimitExcess *excess;
	PlhLogTurn	turn;
	bool		has_dump;
	PlhDumpResult dump;
} Report;

static const char *
consequence(const PlhLimitExcess *excess)
{
	if (excess->ends_session)
		return "Its session is ended, as it is idle and an error would free nothing.";
	return excess->action == PLH_LIMIT_LOG ?
		"Nothing is done about it, since pg_leakhunt.limit_action is \"log\"." :
		"Its statement ends with the error \"out of memory\".";
}

/* Append what is live, and the call site that has most of it. */
static void
append_held(PlhReportDetail *detail, const PlhProfileImage *image)
{
	int64		bound = plh_profile_image_live_bound(image->header);
	int64		live_bytes = Min(image->header->counters.live_bytes, bound);
	PlhTopSite	top;

	if (live_bytes <= 0 || !plh_top_site_find(&top, image, PLH_TOP_NOW))
		return;
	plh_report_detail_append(detail, "  In its memory contexts are %s (estimated from samples)",
							 plh_size_units(live_bytes).text);
	plh_report_detail_append_top(detail, image, &top, PLH_TOP_NOW, bound);
	plh_report_detail_append(detail, ".");
	plh_report_detail_append_lost(detail, image);
	plh_report_detail_append_statement(detail, &top);
}

static void
append_request(PlhReportDetail *detail, const PlhLimitExcess *excess)
{
	if (excess->context != NULL)
		plh_report_detail_append(detail, "  The allocation was of %zu bytes in context \"%s\".",
								 excess->request_bytes,
								 plh_context_name(excess->context));
}

static void
make_detail(PlhReportDetail *detail, const Report *report)
{
	plh_report_detail_begin(detail);
	if (plh_profile != NULL)
		plh_report_detail_append_process(detail, plh_profile_image_own(plh_profile));
	plh_report_detail_append(detail, "  %s", consequence(report->excess));
	append_request(detail, report->excess);
	plh_report_detail_append_left_out(detail, &report->turn, "such line", "such lines");
	if (plh_profile != NULL)
		append_held(detail, plh_profile_image_own(plh_profile));
}

static int
errmsg_of_excess(const PlhLimitExcess *excess)
{
	PlhSizeText limit = plh_size_units(excess->limit_bytes);
	PlhSizeText own = plh_size_units(excess->own_bytes);

	if (excess->of_server)
		return errmsg("the server has reached pg_leakhunt.server_memory_limit (%s): process %d has %s",
					  limit.text, MyProcPid, own.text);
	if (excess->request_bytes < (Size) excess->limit_bytes / 16)
		return errmsg("process %d has reached pg_leakhunt.process_memory_limit: it has %s of %s",
					  MyProcPid, own.text, limit.text);
	return errmsg("process %d has reached pg_leakhunt.process_memory_limit: it has %s of %s, and needs %s more",
				  MyProcPid, own.text, limit.text,
				  plh_size_units(Min(excess->request_bytes, MaxAllocHugeSize / 2)).text);
}

static int
errhint_of_dump(const Report *report)
{
	const char *separator = strrchr(report->dump.path, '/');

	if (!report->has_dump)
		return 0;
	return errhint("SELECT * FROM pg_leakhunt_report('%s') shows the call sites.",
				   separator != NULL ? separator + 1 : report->dump.path);
}

/* Write a dump of what there is now, before it is freed. */
static void
write_dump(Report *report)
{
	const PlhDumpExtras extras = {.reason = "limit"};
	bool		was_held = plh_guard_take();

	report->has_dump = plh_profile != NULL &&
		plh_dump_copy_write(plh_profile_image_own(plh_profile), &extras, &report->dump);
	plh_guard_restore(was_held);
}

/* PlhErrorsWork: write the line. */
static void
log_excess(void *arg)
{
	static PLH_SURVIVES_FORK PLH_LARGE PlhReportDetail detail;
	Report	   *report = arg;

	write_dump(report);
	make_detail(&detail, report);
	ereport(LOG_SERVER_ONLY, (errmsg_of_excess(report->excess),
							  errdetail_internal("%s", detail.text),
							  errhint_of_dump(report), errhidestmt(true)));
}

void
plh_limit_report(const PlhLimitExcess *excess)
{
	Report		report = {.excess = excess};
	ErrorContextCallback *callbacks = error_context_stack;

	if (!plh_log_turns_take_limit(&report.turn))
		return;
	error_context_stack = NULL;
	(void) plh_errors_catch_of_file(log_excess, &report,
									"could not log that a memory limit was reached");
	error_context_stack = callbacks;
}
