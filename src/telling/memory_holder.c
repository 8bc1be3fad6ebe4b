/*
 * memory_holder.c
 *	  Who holds what ends with a statement or transaction: a statement that runs, cursors that
 *	  are open, or a transaction whose session waits for its client.
 *
 * The process has counted what its portals have, and which of them ran then.  Whether it still runs
 * something is known by the server's statistics.  The figures may be damaged ones.
 */
#include "postgres.h"

#include "judge/course.h"
#include "reader/database_text.h"
#include "reader/redaction.h"
#include "reader/server_activity.h"
#include "telling/memory_holder.h"

/* Does a session wait for its client?  What it does is not known where track_activities is off. */
static bool
is_idle(const PlhServerActivity *activity)
{
	return activity->state != NULL && strncmp(activity->state, "idle", 4) == 0;
}

/* What ends with the transaction, and with no statement. */
static int64
transaction_bytes(const PlhProfileImage *image)
{
	const PlhContextRecord *record;
	uint32		position = 0;
	int64		bytes = 0;

	while ((record = plh_profile_image_next_context(image, &position)) != NULL)
		if (record->lifetime == PLH_LIFETIME_TRANSACTION)
			bytes += Min(plh_course_sound(record->bytes), PG_INT64_MAX / 65536);
	return bytes;
}

/* The portals that the census has noted. */
static uint32
noted(const PlhProfileHeader *header)
{
	return Min(header->portals_noted, PLH_PORTALS);
}

/* A text of a portal, which may lack its end. */
static const char *
text_of(const char *text, Size room, const PlhProfileHeader *header)
{
	return plh_database_text_fit_foreign(text, strnlen(text, room), header->encoding);
}

/* Note the largest portal that is open. */
static void
find_cursor(PlhHolder *holder, const PlhProfileHeader *header)
{
	for (uint32 i = 0; i < noted(header) && holder->cursor == NULL; i++)
	{
		const PlhPortal *portal = &header->portals[i];

		if ((portal->flags & PLH_PORTAL_RUNS) != 0)
			continue;
		holder->cursor = portal;
		holder->name = plh_redaction_cursor(text_of(portal->name, PLH_NAME_MAX, header));
		if (portal->text_bytes > 0)
			holder->query = plh_redaction_statement(text_of(portal->text, PLH_PORTAL_TEXT_MAX,
															header));
	}
}

PlhHolder
plh_memory_holder_find(const PlhProfileImage *image, int64 bytes)
{
	const PlhProfileHeader *header = image->header;
	PlhServerActivity activity = {0};
	PlhHolder	holder = {
		.cursors = header->portal_count,
		.bytes = Min(plh_course_sound(header->portal_bytes),
					 plh_course_sound(header->passing_bytes))
	};
	bool		idle = image->alive && plh_server_activity_find(header->pid, &activity) &&
		is_idle(&activity);

	holder.waits = idle && strcmp(activity.state, "idle") != 0;
	holder.waits_since = activity.state_since;
	find_cursor(&holder, header);
	bytes = Max(bytes, plh_course_sound(header->passing_bytes));
	if (holder.cursor != NULL && holder.bytes >= bytes / 2)
		holder.kind = PLH_HELD_BY_CURSORS;
	else if (!idle)
		holder.kind = PLH_HELD_BY_STATEMENT;
	else if (holder.waits && transaction_bytes(image) >= bytes / 2)
		holder.kind = PLH_HELD_BY_TRANSACTION;
	else
		holder.kind = PLH_HELD_BY_LAST;
	return holder;
}

const PlhPortal *
plh_memory_holder_plan(const PlhProfileImage *image)
{
	const PlhProfileHeader *header = image->header;
	const PlhPortal *portal = &header->portals[0];

	return noted(header) > 0 && portal->allowed_bytes > 0 && portal->plan_nodes > 0 &&
		portal->bytes >= header->passing_bytes / 2 ? portal : NULL;
}
