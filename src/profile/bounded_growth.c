/*
 * bounded_growth.c
 *	  What roles without privileges may take of a session's profile at once, by having all, or
 *	  many, of their allocations sampled.
 *
 * A profile lies in memory that is all sessions'.
 */
#include "postgres.h"

#include "base/fork.h"
#include "profile/bounded_growth.h"
#include "profile/profile_records.h"

/* A process that forks others never takes any. */
static PLH_SAME_IN_CHILD Size room_taken;

/* Limit what is taken of the profile from now on.  Returns what its records take at present. */
Size
plh_bounded_growth_begin(bool bounded)
{
	Size		bytes = plh_profile_records_bytes_in_use();

	if (bounded)
		plh_profile_records_limit(bytes + PLH_BOUNDED_ROOM - room_taken);
	return bytes;
}

/*
 * Lift the limit again, and count by how much the records are more than before.  When recycling was
 * suspended, those that nobody needed any more were given up, which makes room, but never more than
 * PLH_BOUNDED_ROOM.
 */
void
plh_bounded_growth_end(bool bounded, Size bytes_before)
{
	Size		bytes = room_taken + plh_profile_records_bytes_in_use();

	plh_profile_records_limit(0);
	if (bounded)
		room_taken = bytes > bytes_before ? bytes - bytes_before : 0;
}
