/*
 * sql_access.h
 *	  Which processes the caller of a function may see.
 *
 * "sees_all" is what plh_sql_access_sees_all returned at the beginning of the call.
 */
#pragma once

#include "reader/profile_reader.h"

extern bool plh_sql_access_sees_all(void);
extern bool plh_sql_access_may_see(Oid role);
extern bool plh_sql_access_knows(int pid);
extern bool plh_sql_access_hides_roles(void);
extern bool plh_sql_access_may_have_loaded(int pid);
extern bool plh_sql_access_check_loaded(int pid);
extern bool plh_sql_access_is_of_cluster(const PlhProfileHeader *header);
extern bool plh_sql_access_shows(bool sees_all, const PlhProfileHeader *header);
extern void plh_sql_access_visit(bool sees_all, int pid, PlhProfileVisitor visit, void *arg);
