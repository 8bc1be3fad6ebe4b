/*
 * suppression_table.h
 *	  Reads the table pg_leakhunt_suppressions of a database.
 *
 * Needs a transaction.  Never called inside palloc.
 */
#pragma once

#include "telling/suppression.h"

/* The result belongs to the current memory context. */
extern PlhSuppressions *plh_suppression_table_read(const char *schema);

/* Of the database that this process is connected to; empty without the extension. */
extern PlhSuppressions *plh_suppression_table_find(void);
