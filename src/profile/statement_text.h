/*
 * statement_text.h
 *	  What is kept of a statement's text, which may hold passwords.
 *
 * These functions may be called inside palloc.
 */
#pragma once

#include "profile/profile_layout.h"

/*
 * Copies what may be kept of the first PLH_STATEMENT_MAX bytes of a text, and a NUL.  Returns its
 * length.  The same text gives the same answer.
 */
extern Size plh_statement_text_keep(char kept[PLH_STATEMENT_MAX + 1],
									const char *text, Size length);

/*
 * The same without literals, of a statement that may be one of a function, whose code is never kept
 * otherwise.  One that is no command is an expression of PL/pgSQL, as the server has parsed it.
 */
extern Size plh_statement_text_keep_bare(char kept[PLH_STATEMENT_MAX + 1],
										 const char *statement, Size length);
