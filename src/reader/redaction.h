/*
 * redaction.h
 *	  What is shown instead of names and statements in what goes out of the house.
 *
 * Between begin and end, roles, databases, applications and cursors are letters, in the order in
 * which they come up, and statements have no literals.  Outside of that each function returns what
 * it is given, NULL included.  Never called inside palloc.
 */
#pragma once

/* Whoever begins must end, also after an ERROR. */
extern void plh_redaction_begin(bool redact);
extern void plh_redaction_end(void);
extern bool plh_redaction_is_on(void);

extern const char *plh_redaction_role(const char *name);
extern const char *plh_redaction_database(const char *name);
extern const char *plh_redaction_application(const char *name);
extern const char *plh_redaction_cursor(const char *name);

/* What a chunk of memory says; NULL where that is left out. */
extern const char *plh_redaction_content(const char *text);
extern const char *plh_redaction_statement(const char *text);
