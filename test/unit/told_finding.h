/*
 * told_finding.h
 *	  A finding on a session, and what is told of it.
 */
#ifndef TOLD_FINDING_H
#define TOLD_FINDING_H

#include "judge/findings.h"
#include "report/listed_site.h"
#include "telling/finding_origin.h"
#include "telling/malloc_statement.h"

/* The session, whose process has the id 123. */
extern PlhProfileHeader header;
extern PlhProfileImage image;

extern PlhFinding finding;

/* Of the session's memory contexts. */
extern PlhAccount account;

/* NULL: sites are not described. */
extern PlhStackTexts *texts;

/* The site of whose stack the advice is; NULL: of none. */
extern PlhListedSite *listed;

/* What is known of the statement that malloc's memory is of. */
extern PlhMallocStatement malloc_statement;

/* Where what it is about came from. */
extern PlhFindingOrigin origin;

/* Let it be of that kind, and nothing else be known. */
extern void find(PlhKind kind, int64 bytes);

/* Let it be 100 MB that leak steadily at a site, or that three transactions have left. */
extern void find_leak(void);
extern void find_held(void);

/* Has the evidence, or the advice, that text?  What it is instead is printed. */
extern bool says(const char *text);
extern bool tells(const char *text);

/* A frame of a function, or without a name, in a binary. */
extern PlhFrameText frame_in(const char *function, const char *module);

#endif							/* TOLD_FINDING_H */
