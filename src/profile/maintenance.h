/*
 * maintenance.h
 *	  Which statements maintain tables, and may take maintenance_work_mem.
 *
 * These functions may be called inside palloc.
 */
#pragma once

/* Does a statement maintain tables?  What precedes its first word is blank. */
extern bool plh_maintenance_is_statement(const char *text, Size bytes);

/* Does a text begin with one of those words, in whatever case? */
extern bool plh_maintenance_begins_with(const char *text, Size bytes,
										const char *const *words, int count);
