/*
 * statement_shape.h
 *	  What tells statements apart where core computes no query id: texts without literals.
 *
 * These functions may be called inside palloc.  Of texts longer than PLH_STATEMENT_MAX, the first
 * bytes count.
 */
#pragma once

#include "profile/profile_layout.h"

typedef struct PlhStatementShape
{
	Size		length;
	char		text[PLH_STATEMENT_MAX];
} PlhStatementShape;

extern void plh_statement_shape_of(PlhStatementShape *shape, const char *text, Size length);
extern bool plh_statement_shape_equals(const PlhStatementShape *shape,
									   const char *text, Size length);
extern int	plh_statement_shape_compare(const char *left, Size left_length, const char *right,
										Size right_length);
