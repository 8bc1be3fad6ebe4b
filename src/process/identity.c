/*
 * identity.c
 *	  Who this process works for, as far as it knows without a catalog.
 *
 * The names of role and database are those that a client has asked for.  Other
 * processes have no more than the numbers of these: of a parallel or background
 * worker, a setting has the name of its role.
 */
#include "postgres.h"

/*
 * A server with GSSAPI or OpenSSL wants their headers, which need not be installed.
 * The fields that these add to a Port lie behind those that are read here.
 */
#undef ENABLE_GSS
#undef USE_OPENSSL
#undef USE_SSL
#include "libpq/libpq-be.h"
#include "miscadmin.h"
#include "utils/guc.h"

#include "process/identity.h"

/* Returns a name, or NULL if it is empty. */
static const char *
name_or_null(const char *name)
{
	return name == NULL || name[0] == '\0' ? NULL : name;
}

/*
 * The role that this process logged in as.
 */
const char *
plh_identity_username(void)
{
	return name_or_null(MyProcPort != NULL ? MyProcPort->user_name :
						GetConfigOption("session_authorization", true, false));
}

/*
 * The database.  A walsender that sends the log as it is has none, whatever its
 * client has asked for.
 */
const char *
plh_identity_database(void)
{
	return MyProcPort != NULL && OidIsValid(MyDatabaseId) ?
		name_or_null(MyProcPort->database_name) : NULL;
}

/*
 * The application_name.
 */
const char *
plh_identity_application(void)
{
	return name_or_null(application_name);
}
