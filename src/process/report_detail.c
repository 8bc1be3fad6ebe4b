/*
 * report_detail.c
 *	  The detail of a line in the server's log on this process: whom it works for, which call
 *	  site holds most, and the statement.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "base/client_names.h"
#include "base/plural.h"
#include "base/size_units.h"
#include "process/report_detail.h"
#include "profile/last_proof.h"

/* A statement is shown up to these bytes. */
#define SHOWN_STATEMENT_BYTES 200

/* Of what is lost, a smaller part that a context can still free is not told. */
#define TOLD_PART 10

void
plh_report_detail_begin(PlhReportDetail *detail)
{
	detail->used = 0;
	detail->text[0] = '\0';
}

/* Append formatted text, as far as there is room for it. */
void
plh_report_detail_append(PlhReportDetail *detail, const char *format,...)
{
	int			room = sizeof(detail->text) - detail->used;
	int			length;
	va_list		args;

	va_start(args, format);
	length = vsnprintf(detail->text + detail->used, room, format, args);
	va_end(args);
	if (length > 0)
		detail->used += Min(length, room - 1);
}

static void
append_name(PlhReportDetail *detail, const char *what, const char *name)
{
	if (name != NULL && name[0] != '\0')
		plh_report_detail_append(detail, ", %s \"%s\"", what, name);
}

/*
 * Append the type of the process and whom it worked for, as far as it knows without a catalog.  A
 * process without a client, such as a worker, has the name of its role in a setting.  A walsender
 * that sends the log as it is has no database, whatever its client has asked for.
 */
void
plh_report_detail_append_process(PlhReportDetail *detail, const PlhProfileImage *image)
{
	const char *role = plh_client_names_role();

	plh_report_detail_append(detail, "Process: %s", plh_profile_image_backend_type(image));
	append_name(detail, "user", role != NULL ? role :
				GetConfigOption("session_authorization", true, false));
	if (OidIsValid(MyDatabaseId))
		append_name(detail, "database", plh_client_names_database());
	append_name(detail, "application", plh_client_names_application());
	plh_report_detail_append(detail, ".");
}

static void
append_routine(PlhReportDetail *detail, const PlhProfileImage *image, const PlhTopSite *top)
{
	int			line;
	const char *routine = plh_top_site_routine(top, image, &line);

	if (routine == NULL)
		return;
	plh_report_detail_append(detail, ", allocated in %s", routine);
	if (line > 0)
		plh_report_detail_append(detail, " line %d", line);
}

/*
 * Append the site that has most of what was just named, which may not be much, and the function
 * that most was allocated in or below.
 */
void
plh_report_detail_append_top(PlhReportDetail *detail, const PlhProfileImage *image,
							 const PlhTopSite *top, PlhTopMoment moment, int64 bound)
{
	char		name[PLH_SITE_NAME_BYTES];
	PlhTopFunction function;

	plh_report_detail_append(detail, ", %s of it by %s in %s",
							 plh_size_units(Min(top->bytes, bound)).text,
							 plh_top_site_name(top, image, name, sizeof(name)),
							 top->context != NULL ? top->context->text : PLH_NO_CONTEXT_NAME);
	append_routine(detail, image, top);
	if (plh_top_site_find_function(&function, top, image, moment))
		plh_report_detail_append(detail, ", %.0f%% of it by %s and the functions that it calls", 100.0 * function.part,
								 function.name);
}

void
plh_report_detail_append_lost(PlhReportDetail *detail, const PlhProfileImage *image)
{
	PlhProof	proof;

	if (!plh_last_proof_peek(&proof, image->header) || proof.lost_bytes == 0)
		return;
	plh_report_detail_append(detail, "  As last proven at %s, nothing points to %s of its memory",
							 timestamptz_to_str(proof.at - proof.at % USECS_PER_SEC),
							 plh_size_units(proof.lost_bytes).text);
	if (proof.resettable_bytes > proof.lost_bytes / TOLD_PART)
		plh_report_detail_append(detail, ", but %s of that can still be freed with its memory context",
								 plh_size_units(proof.resettable_bytes).text);
	plh_report_detail_append(detail, ".");
}

void
plh_report_detail_append_statement(PlhReportDetail *detail, const PlhTopSite *top)
{
	const PlhStatementRecord *statement = top->statement;
	int			bytes;

	if (statement == NULL || statement->text_bytes == 0)
		return;
	bytes = pg_mbcliplen(statement->text, statement->text_bytes, SHOWN_STATEMENT_BYTES);
	if (top->statements > 1)
		plh_report_detail_append(detail, "  The statement with the most, of %u: %.*s",
								 top->statements, bytes, statement->text);
	else
		plh_report_detail_append(detail, "  Statement: %.*s", bytes, statement->text);
}

void
plh_report_detail_append_left_out(PlhReportDetail *detail, const PlhLogTurn *turn,
								  const char *one, const char *many)
{
	if (turn->left_out > 0)
		plh_report_detail_append(detail, "  %u more %s %s not logged in the minute that began at %s.",
								 turn->left_out, plh_plural(turn->left_out, one, many),
								 plh_plural(turn->left_out, "was", "were"),
								 timestamptz_to_str(turn->left_out_from));
	if (turn->is_last)
		plh_report_detail_append(detail, "  Further %s are not logged until %s.", many,
								 timestamptz_to_str(turn->ends_at));
}
