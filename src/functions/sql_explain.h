/*
 * sql_explain.h
 *	  What is known of a process before it is explained: names, state, sizes.
 *
 * Whoever calls these has looked whether the caller may see the process.
 */
#pragma once

#include "judge/server_account.h"
#include "reader/dump_reader.h"
#include "telling/explained_process.h"

/* A process that has that profile. */
extern PlhExplainedProcess plh_sql_explain_profiled(const PlhProfileImage *image);

/* The process of a dump, as it was then. */
extern PlhExplainedProcess plh_sql_explain_dumped(const PlhDump *dump);

/* Called with a process; what it allocates does not last, nor does the process' image. */
typedef void (*PlhExplainedVisitor) (const PlhExplainedProcess *process, void *arg);

/*
 * Visit all processes that the caller may see, or those with that pid if it is not 0: first those
 * that have a profile, then the others that the server has.
 */
extern void plh_sql_explain_visit(bool sees_all, int pid, PlhExplainedVisitor visit, void *arg);

/*
 * What the server takes at this moment, in the current memory context, for that control group, or,
 * if it is NULL, the server's; NULL: the caller does not see it all.
 */
extern PlhServerAccount *plh_sql_explain_account(bool sees_all, const char *group);
