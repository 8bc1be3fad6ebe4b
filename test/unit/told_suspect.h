/*
 * told_suspect.h
 *	  A suspect of a session, and what is told of it.
 */
#ifndef TOLD_SUSPECT_H
#define TOLD_SUSPECT_H

#include "judge/found_suspects.h"
#include "report/listed_site.h"
#include "telling/malloc_statement.h"

/* The session, whose process has the id 123. */
extern PlhProfileHeader header;
extern PlhProfileImage image;

extern PlhSuspect suspect;

/* NULL: sites are not described. */
extern PlhStackTexts *texts;

/* The site of whose stack the advice is; NULL: of none. */
extern PlhListedSite *listed;

/* What is known of the statement that malloc's memory is of. */
extern PlhMallocStatement malloc_statement;

/* Let it be of a site with these facts. */
extern void suspect_site(PlhSuspectFacts facts);

/* Has the evidence, or the advice, that text?  What it is instead is printed. */
extern bool says(const char *text);
extern bool tells(const char *text);

/* A frame of a function, or without a name, in a binary. */
extern PlhFrameText frame_in(const char *function, const char *module);

#endif							/* TOLD_SUSPECT_H */
