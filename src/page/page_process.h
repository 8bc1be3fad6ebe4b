/*
 * page_process.h
 *	  What the page of a process or a dump says: one document of JSON.
 *
 * Never called inside palloc.
 */
#pragma once

#include "lib/stringinfo.h"

#include "report/site_list.h"
#include "telling/explanation.h"

/* What the page is made of. */
typedef struct PlhPageSource
{
	const PlhExplainedProcess *process; /* with an image */
	const PlhExplanation *explanation;
	const PlhSiteList *list;
	PlhSymbols *symbols;
	const char *file;			/* name of the dump; NULL: of a process */
} PlhPageSource;

/* The document; of more call sites than fit into "most_bytes", the smallest are one. */
extern void plh_page_process_append(StringInfo json, const PlhPageSource *source, Size most_bytes);

/* The title: "client backend 4711". */
extern char *plh_page_process_title(const PlhPageSource *source);

/* The same of a process without a profile, of which there are only words. */
extern void plh_page_process_append_unprofiled(StringInfo json, const PlhExplainedProcess *process,
											   const PlhExplanation *explanation);
extern char *plh_page_process_unprofiled_title(const PlhExplainedProcess *process);
