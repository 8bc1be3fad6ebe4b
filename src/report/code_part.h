/*
 * code_part.h
 *	  Which part of the server a function belongs to: the colours of pictures.
 *
 * Never called inside palloc.
 */
#pragma once

#include "report/stack_text.h"

/* Pages have the numbers: append only. */
typedef enum PlhCodePart
{
	PLH_CODE_NONE,				/* no code: a context, a statement, what
								 * stands for a stack */
	PLH_CODE_EXECUTOR,
	PLH_CODE_PLANNER,			/* from the parser on */
	PLH_CODE_CACHES,			/* of catalogs and plans */
	PLH_CODE_REPLICATION,
	PLH_CODE_STORAGE,			/* access methods, buffers, locks */
	PLH_CODE_SERVER,			/* all else in the server's binary */
	PLH_CODE_EXTENSION,			/* and a procedural language's library */
	PLH_CODE_LIBRARY,			/* of the system */
	PLH_CODE_ROUTINE			/* a function in SQL or a procedural language */
#define PLH_CODE_PARTS (PLH_CODE_ROUTINE + 1)
} PlhCodePart;

extern PlhCodePart plh_code_part_of(const PlhFrameText *frame);

/* As in a legend. */
extern const char *plh_code_part_name(PlhCodePart part);
