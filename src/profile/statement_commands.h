/*
 * statement_commands.h
 *	  The kinds of statements, and what may be kept of their texts.
 *
 * These functions may be called inside palloc.
 */
#ifndef PLH_STATEMENT_COMMANDS_H
#define PLH_STATEMENT_COMMANDS_H

#include "profile/statement_tokens.h"

typedef enum PlhTreatment
{
	PLH_TREATMENT_SECRET,		/* its first words only, and no literals or
								 * comments around it */
	PLH_TREATMENT_HIDDEN,		/* its first words only */
	PLH_TREATMENT_ARGUMENTS,	/* without literals */
	PLH_TREATMENT_UTILITY,		/* without strings */
	PLH_TREATMENT_CODE,			/* whole, if its string is harmless */
	PLH_TREATMENT_DATA			/* whole */
} PlhTreatment;

typedef struct PlhCommand
{
	const char *words;			/* upper case, a blank between */
	PlhTreatment treatment;
} PlhCommand;

extern const PlhCommand *plh_statement_commands_find(const PlhToken *token,
													 const char *end,
													 const char **command_end);

#endif							/* PLH_STATEMENT_COMMANDS_H */
