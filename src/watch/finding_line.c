/*
 * finding_line.c
 *	  The line in the server's log that tells of a finding.
 *
 * It is read by people who have never heard of pg_leakhunt: so it says what happens,
 * and not what the verdict is called.
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "base/plural.h"
#include "judge/account.h"
#include "report/blamed_code.h"
#include "report/death_text.h"
#include "report/one_line.h"
#include "report/words.h"
#include "watch/finding_line.h"

/* The most characters of a statement that are shown. */
#define STATEMENT_COLUMNS 200

/* Where it is: a call site, or contexts of one kind; "" where that is not known. */
static const char *
place_of(const PlhSuspect *suspect, const PlhListedSite *named, const PlhProfileImage *image)
{
	if (suspect->family != NULL)
		return psprintf(" for %s", plh_account_title(suspect->family, image));
	return named == NULL ? "" :
		psprintf(" at %s in %s", plh_blamed_code_site(&named->stack), named->context_name);
}

/* What happens, and how much it is about. */
static const char *
headline(const PlhSuspect *suspect, const PlhListedSite *named, const PlhFoundIn *in)
{
	const char *size = plh_words_estimate(suspect->facts.live_bytes,
										  suspect->judgement.error_bytes);
	const char *place = place_of(suspect, named, in->image);
	int			pid = in->image->header->pid;

	if (plh_suspect_leaks(&suspect->facts, &suspect->judgement))
		return psprintf("process %d leaks memory: %s%s", pid, size, place);
	switch (suspect->judgement.verdict)
	{
		case PLH_VERDICT_QUERY:
			return psprintf("process %d runs a statement or transaction that holds much memory: %s%s%s",
							pid, size, named == NULL ? "" : ", the largest part", place);
		case PLH_VERDICT_CONTEXTS:
			return psprintf("process %d creates more and more memory contexts: %s%s",
							pid, size, place);
		case PLH_VERDICT_MALLOC:
			return psprintf("process %d takes more and more memory from malloc: %s outside of memory contexts",
							pid, size);
		case PLH_VERDICT_MAPPED:
			return psprintf("process %d maps more and more memory: %s", pid, size);
		case PLH_VERDICT_FREED:
			return psprintf("process %d keeps memory that was freed: %s", pid, size);
		default:
			return psprintf("process %d keeps memory after its transactions: %s%s",
							pid, size, place);
	}
}

/* Append which other findings the log does not tell of. */
static void
append_left_out(StringInfo detail, const PlhLogTurn *turn)
{
	if (turn->left_out > 0)
		appendStringInfo(detail, "  %u more %s not logged in the minute that began at %s.",
						 turn->left_out, plh_plural(turn->left_out, "finding was", "findings were"),
						 plh_words_time(turn->left_out_from));
	if (turn->is_last)
		appendStringInfo(detail, "  Further findings are not logged until %s.",
						 plh_words_time(turn->ends_at));
}

/* Whom the process works for, why it is a finding, and in which routine and statement. */
static char *
make_detail(const PlhToldFinding *finding, const PlhFoundIn *in, const PlhLogTurn *turn)
{
	const PlhProfileHeader *header = in->image->header;
	const char *names = plh_death_text_names(header);
	StringInfoData detail;

	initStringInfo(&detail);
	appendStringInfo(&detail, "Process: %s%s%s.  %s",
					 plh_profile_image_backend_type(in->image),
					 names[0] == '\0' ? "" : ", ", names, finding->evidence);
	if (finding->routine != NULL)
		appendStringInfo(&detail, "  Allocated in %s.", finding->routine);
	append_left_out(&detail, turn);
	if (finding->query != NULL)
		appendStringInfo(&detail, "  Statement: %s",
						 plh_one_line(finding->query, STATEMENT_COLUMNS));
	return detail.data;
}

void
plh_finding_line_log(const PlhSuspect *suspect, const PlhListedSite *listed,
					 const PlhFoundIn *in, const PlhLogTurn *turn)
{
	const PlhToldFinding *finding = plh_told_finding_make(suspect, listed, in);

	ereport(LOG,
			(errmsg_internal("%s", headline(suspect, finding->named, in)),
			 errdetail_internal("%s", make_detail(finding, in, turn)),
			 errhint("%s  SELECT explanation FROM pg_leakhunt_explain(%d) tells more.",
					 finding->next, in->image->header->pid)));
}
