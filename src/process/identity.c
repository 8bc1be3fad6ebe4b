/*
 * identity.c
 *	  Who this process works for, as far as it knows without a catalog.
 *
 * The names of role and database are those that a client has asked for.  Other
 * processes have no more than the numbers of these: of a parallel or background
 * worker, a setting has the name of its role.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/guc.h"

#include "base/client_names.h"
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
	const char *name = plh_client_names_role();

	return name_or_null(name != NULL ? name :
						GetConfigOption("session_authorization", true, false));
}

/*
 * The database.  A walsender that sends the log as it is has none, whatever its
 * client has asked for.
 */
const char *
plh_identity_database(void)
{
	return OidIsValid(MyDatabaseId) ?
		name_or_null(plh_client_names_database()) : NULL;
}

/*
 * The application_name.
 */
const char *
plh_identity_application(void)
{
	return name_or_null(plh_client_names_application());
}
