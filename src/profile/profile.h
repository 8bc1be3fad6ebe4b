/*
 * profile.h
 *	  The owner's side of a profile: it adds records.
 *
 * These functions may be called inside palloc; they never palloc or throw.  Functions that may make
 * the profile grow (all that return an offset or a record) must not be called in a critical
 * section, and their callers hold the guard.  An offset of 0 says that there is no room.
 */
#pragma once

#include "profile/profile_file.h"
#include "profile/profile_layout.h"
#include "stack/unwind.h"

extern bool plh_profile_begin(void);
extern void plh_profile_forget(void);
extern uint32 plh_profile_string(const char *text, Size max_bytes);
extern uint32 plh_profile_stack(const PlhStack *captured);
extern uint32 plh_profile_statement(uint64 query_id, const char *text);
extern uint32 plh_profile_site(const PlhSiteKey *key);
extern uint32 plh_profile_site_of(PlhKnownStack *known, const PlhSiteKey *key);
extern void plh_profile_turn_census(void);
extern PlhContextRecord *plh_profile_context(uint32 context_name, uint32 lifetime);
extern PlhContextRecord *plh_profile_next_context(const PlhContextRecord *context);
