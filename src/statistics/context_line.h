/*
 * context_line.h
 *	  One line of statistics of memory contexts, in the form of any release from 9.6 on.
 *
 * The reader trusts nothing, allocates nothing and never throws.  What it returns refers to the
 * line.
 */
#pragma once

#include "statistics/text_span.h"

typedef enum PlhContextLineKind
{
	PLH_CONTEXT_LINE_NONE,		/* it is no such line */
	PLH_CONTEXT_LINE_ONE,		/* a context */
	PLH_CONTEXT_LINE_MORE,		/* contexts that are not listed one by one */
	PLH_CONTEXT_LINE_TOTAL		/* the grand total */
} PlhContextLineKind;

typedef struct PlhContextLine
{
	PlhContextLineKind kind;
	PlhTextSpan before;			/* of a context: all that precedes its
								 * figures, the name at its end */
	PlhTextSpan name;			/* of a context */
	PlhTextSpan ident;			/* what it is of; empty where that is not said */
	int64		contexts;		/* that are not listed; else 1 */
	int64		total_bytes;
	int64		free_bytes;
	int64		blocks;
	int64		level;			/* -1: the line says none */
	bool		is_cut;			/* it ends within its figures */
} PlhContextLine;

/* The name begins where the line does, or behind "level: N; ". */
extern PlhContextLine plh_context_line_read(PlhTextSpan line);
