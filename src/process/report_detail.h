/*
 * report_detail.h
 *	  The detail of a line in the server's log on this process: whom it works for, which call
 *	  site holds most, and the statement.
 *
 * Callable at exit: nothing is palloc'd or thrown.
 */
#pragma once

#include "process/log_turns.h"
#include "process/top_site.h"

/* Room for three names, two sites and contexts, figures, a statement. */
#define PLH_REPORT_DETAIL_BYTES 4096

/* It grows at its end. */
typedef struct PlhReportDetail
{
	int			used;
	char		text[PLH_REPORT_DETAIL_BYTES];
} PlhReportDetail;

extern void plh_report_detail_begin(PlhReportDetail *detail);
extern void plh_report_detail_append(PlhReportDetail *detail, const char *format,...)
			pg_attribute_printf(2, 3);
extern void plh_report_detail_append_process(PlhReportDetail *detail, const PlhProfileImage *image);
extern void plh_report_detail_append_top(PlhReportDetail *detail, const PlhProfileImage *image,
										 const PlhTopSite *top, PlhTopMoment moment,
										 int64 bound);

/* How much nothing points to, as last proven.  Where nothing is lost, nothing is appended. */
extern void plh_report_detail_append_lost(PlhReportDetail *detail, const PlhProfileImage *image);
extern void plh_report_detail_append_statement(PlhReportDetail *detail, const PlhTopSite *top);

/* Which other lines, named as one and as many, the log lacks. */
extern void plh_report_detail_append_left_out(PlhReportDetail *detail, const PlhLogTurn *turn,
											  const char *one, const char *many);
