/*
 * largest_statements.h
 *	  The statements with the highest peaks, as labels of what is stored every few seconds.
 *
 * Never called inside palloc.
 */
#pragma once

#include "reader/statement_list.h"

/* Few enough for who stores them. */
#define PLH_LARGEST_STATEMENTS 10

/* Characters of a text. */
#define PLH_STATEMENT_LABEL_MAX 100

/* Statements that are called alike, of several roles or databases, are one. */
typedef struct PlhLargeStatement
{
	uint64		query_id;		/* 0: the server computes none */
	const char *query;			/* in one line, which may be cut; NULL: not
								 * known */
	int64		peak_bytes;
} PlhLargeStatement;

typedef struct PlhLargestStatements
{
	int			count;
	PlhLargeStatement statements[PLH_LARGEST_STATEMENTS];	/* the highest first */
} PlhLargestStatements;

/* The texts belong to the current memory context. */
extern void plh_largest_statements_find(PlhLargestStatements *largest, PlhRoleFilter may_see);
