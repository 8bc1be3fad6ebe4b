/*
 * dump_report.h
 *	  Reports what went wrong with dump files.
 *
 * Never called inside palloc.  Callable at exit, with a level below ERROR.
 */
#pragma once

#include "profile/dump_copy.h"

/* Reports nothing if the dump was written. */
extern void plh_dump_report(const PlhDumpResult *result, int level);

/* Warns of old dumps that could not be removed; "failure" is an errno, or 0. */
extern void plh_dump_report_removal(int failure);
