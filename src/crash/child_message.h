/*
 * child_message.h
 *	  Reads the postmaster's messages about children that have ended.
 *
 * Never called inside palloc.  Allocates nothing and never throws: a handler of
 * signals may call it.
 */
#ifndef PLH_CHILD_MESSAGE_H
#define PLH_CHILD_MESSAGE_H

#include "profile/profile_layout.h"

/*
 * Is that a message about a child that has ended?  "id" is the message's format in
 * the server's source, "format" the translation that "message" was made with.
 * Fills in the pid, and of the death all but the time.
 */
extern bool plh_child_message_parse(const char *id, const char *format,
									const char *message, int *pid,
									PlhDeath *death);

/* Is that the message with which the server begins to end all other children? */
extern bool plh_child_message_is_crash(const char *id);

#endif							/* PLH_CHILD_MESSAGE_H */
