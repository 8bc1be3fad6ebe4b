/*
 * told_finding.h
 *	  What there is to tell of a finding: its facts, the names of its code, and the sentences.
 *
 * The view, the explanation, the log, the page and JSON all tell it from this one record.  Texts
 * belong to the current memory context.  Never called inside palloc.
 */
#pragma once

#include "report/listed_site.h"
#include "telling/finding_evidence.h"

/* A NULL text is not known, or does not apply. */
typedef struct PlhToldFinding
{
	const PlhFinding *finding;
	const PlhListedSite *named; /* the site that it is named after, as it was
								 * passed; NULL: after none */
	const PlhSharedFunction *shared;	/* that most of it was allocated in or
										 * below; NULL: none, or a single call
										 * site has it */
	const char *verdict;
	const char *about;			/* "the running statement or transaction" */
	const char *cause;			/* within a sentence: "(the running ...)", or
								 * "at f (f.c:5) in TopMemoryContext" */
	const char *common;			/* what is alike in each process that has this
								 * cause: its place, without the number of
								 * call sites, or the cause */
	const char *family;			/* what its contexts are for */
	bool		waits;			/* of open cursors, or of a transaction in
								 * which no statement runs */
	const char *site;			/* where no call site has much of it, that
								 * function */
	const char *site_words;		/* the same; without a name with its caller */
	const char *routine;		/* that allocates, with its line */
	const char *routine_name;	/* without it */
	const char *context_name;
	const char *phase;			/* what the server was doing */
	const char *query;
	int64		query_id;		/* 0: none */
	const char *share;			/* sentences on its part of the whole */
	const char *evidence;
	List	   *said;			/* of PlhSaidSentence: share and evidence */
	const char *next;
	const char *next_summary;	/* the first sentence of that */
	const char *next_id;		/* and its name in the table */
	bool		needs_names;	/* what to do depends on the functions that
								 * allocate */
	const char *loaded;			/* a sentence: what the process has loaded
								 * that may have it */
	const char *libraries;		/* that it has loaded by itself and that call
								 * malloc */
} PlhToldFinding;

/* "listed" is the site of the finding, described; NULL where it has none. */
extern PlhToldFinding *plh_told_finding_make(const PlhFinding *finding, const PlhListedSite *listed,
											 const PlhFoundIn *in);

/*
 * Path of the binary whose names are missing where a name would tell more; else NULL.  What memory
 * contexts are for tells their cause, whatever the function is called, and so does a statement of
 * which it is known what to do.
 */
extern const char *plh_told_finding_nameless(const PlhToldFinding *told);

/* The evidence, who calls a site without a name, and the next step, for a row. */
extern char *plh_told_finding_row_text(const PlhToldFinding *told);
