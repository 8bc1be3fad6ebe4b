/*
 * client_names.h
 *	  The names of database, role and application that this process works for.
 *
 * These functions may be called inside palloc.  The names are the server's, and to be copied at
 * once; NULL stands for none.
 */
#pragma once

extern const char *plh_client_names_database(void);
extern const char *plh_client_names_role(void);
extern const char *plh_client_names_application(void);
