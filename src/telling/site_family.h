/*
 * site_family.h
 *	  What is known of a call site by the functions of the server that it lies in.
 *
 * Never called inside palloc.
 */
#pragma once

#include "judge/family.h"
#include "report/stack_text.h"

/* NULL: nothing is known. */
extern const PlhFamily *plh_site_family(const PlhStackText *stack);
