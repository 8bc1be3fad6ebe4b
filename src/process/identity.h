/*
 * identity.h
 *	  Who this process works for, as far as it knows without a catalog.
 *
 * Callable at exit: nothing is palloc'd or thrown.  The names live as long as the
 * process; NULL stands for one that it does not know, or has not.
 */
#ifndef PLH_IDENTITY_H
#define PLH_IDENTITY_H

extern const char *plh_identity_username(void);
extern const char *plh_identity_database(void);
extern const char *plh_identity_application(void);

#endif							/* PLH_IDENTITY_H */
