/*
 * ending_advice.c
 *	  How to free what a process holds by ending its statement, its transaction or the
 *	  process itself, as sentences.
 *
 * A statement that runs can be cancelled.  A session that waits within its transaction
 * runs none: only its end ends the transaction.
 */
#include "postgres.h"

#include "judge/process_kind.h"
#include "reader/server_activity.h"
#include "telling/ending_advice.h"

/* What a session does, as far as that decides how to free its memory. */
typedef enum Doing
{
	RUNNING,
	IDLE,						/* in a transaction or not */
	UNKNOWN						/* track_activities is off */
} Doing;

static Doing
doing_of(const PlhProfileImage *image)
{
	PlhServerActivity activity;

	if (!plh_server_activity_find(image->header->pid, &activity) ||
		activity.state == NULL)
		return UNKNOWN;
	return strncmp(activity.state, "idle", 4) == 0 ? IDLE : RUNNING;
}

/* Is it a session that somebody could end? */
static bool
is_live_session(const PlhProfileImage *image)
{
	return image->alive && plh_process_kind(image->header) == PLH_KIND_SESSION;
}

/* How to end a process so that its memory is freed, as a sentence. */
const char *
plh_ending_advice_end(const PlhProfileImage *image)
{
	if (image->crashed)
		return psprintf("Nothing: the memory was freed when the %s ended.",
						plh_process_kind_noun(image));
	if (!image->alive)			/* a dump of a process that may run still */
		return psprintf("If the %s still runs, end it, unless it will need this memory again.",
						plh_process_kind_noun(image));
	switch (plh_process_kind(image->header))
	{
		case PLH_KIND_SESSION:
			return psprintf("End the session, unless it will need this memory again: SELECT pg_terminate_backend(%d).",
							image->header->pid);
		case PLH_KIND_PARALLEL_WORKER:
		case PLH_KIND_AUTOVACUUM_WORKER:
			return psprintf("Wait until the %s ends: it does so with its work.",
							plh_process_kind_noun(image));
		case PLH_KIND_BACKGROUND_WORKER:
		case PLH_KIND_WALSENDER:
			return psprintf("Restart the %s, unless it will need this memory again: SELECT pg_terminate_backend(%d).",
							plh_process_kind_noun(image), image->header->pid);
		case PLH_KIND_OTHER:
			break;
	}
	return "A restart of the server frees this memory.";
}

/* How to live with a process that keeps growing, as a sentence. */
const char *
plh_ending_advice_recycle(const PlhProfileImage *image)
{
	switch (plh_process_kind(image->header))
	{
		case PLH_KIND_SESSION:
			return psprintf("Until this is fixed, limit how long such connections live (a pool's max lifetime), or end them from time to time%s.",
							!image->alive ? "" :
							psprintf(": SELECT pg_terminate_backend(%d)", image->header->pid));
		case PLH_KIND_BACKGROUND_WORKER:
		case PLH_KIND_WALSENDER:
			return psprintf("Until this is fixed, restart such %ss from time to time%s.",
							plh_process_kind_noun(image),
							!image->alive ? "" :
							psprintf(": SELECT pg_terminate_backend(%d)", image->header->pid));
		case PLH_KIND_PARALLEL_WORKER:
		case PLH_KIND_AUTOVACUUM_WORKER:
			return psprintf("Each %s frees it when it ends.", plh_process_kind_noun(image));
		case PLH_KIND_OTHER:
			break;
	}
	return "Until this is fixed, only a restart of the server frees it.";
}

/* How to free at once what ends with the session. */
const char *
plh_ending_advice_end_now(const PlhProfileImage *image)
{
	return !is_live_session(image) ? "" :
		psprintf(" To free it now, end the session: SELECT pg_terminate_backend(%d).",
				 image->header->pid);
}

/* The same of what ends with the statement or transaction. */
const char *
plh_ending_advice_cancel(const PlhProfileImage *image)
{
	int			pid = image->header->pid;

	if (!is_live_session(image))
		return "";
	switch (doing_of(image))
	{
		case RUNNING:
			return psprintf(" To free it now: SELECT pg_cancel_backend(%d).", pid);
		case IDLE:
			return plh_ending_advice_end_now(image);
		case UNKNOWN:
			break;
	}
	return psprintf(" To free it now: SELECT pg_cancel_backend(%d), or pg_terminate_backend(%d) if the session is idle in transaction.",
					pid, pid);
}

/*
 * The same of subtransactions: where a client has set savepoints, a statement that is
 * cancelled goes back to the last of them only.
 */
const char *
plh_ending_advice_subtransactions(const PlhProfileImage *image)
{
	if (!is_live_session(image))
		return "";
	if (doing_of(image) == IDLE)
		return plh_ending_advice_end_now(image);
	return psprintf(" To free it now: SELECT pg_cancel_backend(%d). If its client has set savepoints, this frees nothing before ROLLBACK or COMMIT; then end the session: SELECT pg_terminate_backend(%d).",
					image->header->pid, image->header->pid);
}

/*
 * How to find out whether what came while a statement ran goes with it.
 */
const char *
plh_ending_advice_try_cancel(int pid)
{
	return psprintf("Cancel the statement to see whether that frees the memory: SELECT pg_cancel_backend(%d). If it does not, end the session: SELECT pg_terminate_backend(%d).",
					pid, pid);
}
