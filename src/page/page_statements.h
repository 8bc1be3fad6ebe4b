/*
 * page_statements.h
 *	  The largest statements of a page of the server.
 *
 * Never called inside palloc.
 */
#pragma once

#include "lib/stringinfo.h"

#include "reader/statement_list.h"
#include "symbols/symbols.h"

/* Write an array of rows, as in pg_leakhunt_statements, the highest peak first. */
extern void plh_page_statements_append(StringInfo json, const PlhStatementList *list,
									   PlhSymbols *symbols);
