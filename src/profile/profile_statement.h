/*
 * profile_statement.h
 *	  The owner's side of a profile: records of statements.
 *
 * profile.h says how this function may be called.
 */
#ifndef PLH_PROFILE_STATEMENT_H
#define PLH_PROFILE_STATEMENT_H

extern uint32 plh_profile_statement(uint64 query_id, const char *text);

#endif							/* PLH_PROFILE_STATEMENT_H */
