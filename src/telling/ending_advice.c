/*
 * ending_advice.c
 *	  How to free what a process holds by ending its statement, its transaction or the process
 *	  itself.
 *
 * A statement that runs can be cancelled.  A session that waits within its transaction runs none:
 * only its end ends the transaction.
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

	if (!plh_server_activity_find(image->header->pid, &activity) || activity.state == NULL)
		return UNKNOWN;
	return strncmp(activity.state, "idle", 4) == 0 ? IDLE : RUNNING;
}

/* Is it a session that somebody could end? */
static bool
is_live_session(const PlhProfileImage *image)
{
	return image->alive && plh_process_kind(image->header) == PLH_PROCESS_SESSION;
}

/* Say one of the sentences that depend on the kind of process. */
static void
say_by_kind(PlhSaid *said, const PlhProfileImage *image, PlhSentence session,
			PlhSentence worker, PlhSentence passing, PlhSentence server)
{
	const PlhFields fields = {
		.noun = plh_process_kind_noun(image),
		.pid = image->header->pid
	};
	PlhSentence sentence = server;

	switch (plh_process_kind(image->header))
	{
		case PLH_PROCESS_SESSION:
			sentence = session;
			break;
		case PLH_PROCESS_BACKGROUND_WORKER:
		case PLH_PROCESS_WALSENDER:
			sentence = worker;
			break;
		case PLH_PROCESS_PARALLEL_WORKER:
		case PLH_PROCESS_AUTOVACUUM_WORKER:
			sentence = passing;
			break;
		case PLH_PROCESS_OTHER:
			break;
	}
	plh_sentences_say(said, sentence, image->alive, &fields);
}

void
plh_ending_advice_end(PlhSaid *said, const PlhProfileImage *image)
{
	if (image->crashed)
		PLH_SAY(said, false, end_is_over,.noun = plh_process_kind_noun(image));
	else						/* a process with a dump may run still */
		say_by_kind(said, image, PLH_SAYS_end_session, PLH_SAYS_end_worker,
					PLH_SAYS_end_passing, PLH_SAYS_end_server);
}

void
plh_ending_advice_recycle(PlhSaid *said, const PlhProfileImage *image)
{
	say_by_kind(said, image, PLH_SAYS_recycle_session, PLH_SAYS_recycle_worker,
				PLH_SAYS_recycle_passing, PLH_SAYS_recycle_server);
}

void
plh_ending_advice_end_now(PlhSaid *said, const PlhProfileImage *image)
{
	if (is_live_session(image))
		PLH_SAY(said, true, end_now,.pid = image->header->pid);
}

void
plh_ending_advice_cancel(PlhSaid *said, const PlhProfileImage *image)
{
	static const PlhSentence sentences[] = {
		[RUNNING] = PLH_SAYS_cancel_now,
		[IDLE] = PLH_SAYS_end_now,
		[UNKNOWN] = PLH_SAYS_cancel_or_end_now
	};

	if (is_live_session(image))
		plh_sentences_say(said, sentences[doing_of(image)], true,
						  PLH_FIELDS(.pid = image->header->pid));
}

/*
 * Where a client has set savepoints, a statement that is cancelled goes back to the last of them
 * only.
 */
void
plh_ending_advice_subtransactions(PlhSaid *said, const PlhProfileImage *image)
{
	if (is_live_session(image))
		plh_sentences_say(said, doing_of(image) == IDLE ? PLH_SAYS_end_now :
						  PLH_SAYS_cancel_savepoints, true,
						  PLH_FIELDS(.pid = image->header->pid));
}

/* How to find out whether what came while a statement ran goes with it. */
void
plh_ending_advice_try_cancel(PlhSaid *said, int pid)
{
	PLH_SAY(said, true, cancel_to_see,.pid = pid);
}
