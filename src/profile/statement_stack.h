/*
 * statement_stack.h
 *	  The stacks of statements in their file: with modules and routines of their own.
 *
 * These functions may be called inside palloc; the first under the lock of the file.
 */
#ifndef PLH_STATEMENT_STACK_H
#define PLH_STATEMENT_STACK_H

#include "profile/profile_image.h"
#include "profile/statements_layout.h"

/* Where the modules and routines of a stack are found: in a profile, or in another file. */
typedef struct PlhStackSource
{
	const PlhProfileImage *image;	/* NULL: in the latter */
	const PlhStatementEntry *former;
	const PlhStatementModule *modules;
	uint32		module_count;
} PlhStackSource;

/*
 * Notes a stack.  Without room for one of its modules, or without one in the source, it
 * is not known.
 */
extern void plh_statement_stack_note(PlhStatementEntry *entry, const PlhStackSource *source,
									 const PlhFrame *frames, uint32 depth, bool truncated);

/*
 * The name of a routine that is in the stack of an entry, with its length; NULL if it is
 * not there, whatever is in the entry.
 */
extern const char *plh_statement_stack_routine(const PlhStatementEntry *entry,
											   PlhFrame frame, Size *bytes);

#endif							/* PLH_STATEMENT_STACK_H */
