/*
 * unwritten.h
 *	  What a process has allocated and not written to, which takes no memory yet.
 *
 * Pure functions: they allocate nothing and call nothing of the server.
 */
#ifndef PLH_UNWRITTEN_H
#define PLH_UNWRITTEN_H

#include "judge/suspect.h"

extern int64 plh_unwritten_bytes(const PlhProfileHeader *header);
extern bool plh_unwritten_is_most(const PlhSuspectFacts *facts,
								  const PlhProfileHeader *header);
extern const char *plh_unwritten_part(const PlhSuspectFacts *facts,
									  const PlhProfileHeader *header);

#endif							/* PLH_UNWRITTEN_H */
