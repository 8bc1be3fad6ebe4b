/*
 * database_text.h
 *	  Text from outside, made fit for this database.
 *
 * Names of functions and files, and what other databases' processes have
 * written, may be in any encoding or none: what is not fit becomes '?', and is
 * never an ERROR.  Never called inside palloc.
 */
#ifndef PLH_DATABASE_TEXT_H
#define PLH_DATABASE_TEXT_H

extern char *plh_database_text_fit(const char *text);
extern char *plh_database_text_fit_foreign(const char *text, Size bytes,
										   int encoding);
extern char *plh_database_text_to_utf8(const char *text);

#endif							/* PLH_DATABASE_TEXT_H */
