/*
 * server_account.h
 *	  What the memory consists of that a control group, or the machine, uses: a tree of parts, each
 *	  of which is the sum of its own parts, to the byte.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/memory_part.h"
#include "profile/profile_image.h"
#include "reader/named_segments.h"
#include "reader/server_memory.h"

typedef struct PlhServerAccount PlhServerAccount;

/*
 * An account of that moment, in the current memory context.  The memory must last as long.
 * "is_in_group" is false where none of the server's processes is in the group: then only what the
 * kernel tells is in it.
 */
extern PlhServerAccount *plh_server_account_begin(const PlhServerMemory *memory, bool is_in_group);

/*
 * Tell of a process.  Those that have started since are left out.  A process without a profile, or
 * a count, has a size only.
 */
extern void plh_server_account_add(PlhServerAccount *account, int pid, const char *type,
								   const char *application, const PlhProfileImage *image);

/* Tell of dynamic memory that extensions have by a name, as a list of PlhNamedSegment. */
extern void plh_server_account_name_segments(PlhServerAccount *account, List *segments);

extern const PlhServerMemory *plh_server_account_memory(const PlhServerAccount *account);

/*
 * When all processes are told: the parts, as a list of PlhMemoryPart, the whole first, each before
 * those in it, and what limits the whole behind them.
 */
extern const List *plh_server_account_parts(PlhServerAccount *account);
