/*
 * client_names.c
 *	  The names of database, role and application that this process works for.
 *
 * This code runs inside palloc.  The catalogs have the first two as well, but can't be read there,
 * nor by those who look at a process after a crash.
 */
#include "postgres.h"

/*
 * The struct of a connection has the headers of OpenSSL and Kerberos, which need not be installed,
 * for members behind those that are used here.
 */
#undef ENABLE_GSS
#undef USE_OPENSSL
#undef USE_SSL
#include "libpq/libpq-be.h"
#include "miscadmin.h"
#include "utils/guc.h"

#include "base/client_names.h"

const char *
plh_client_names_database(void)
{
	return MyProcPort != NULL ? MyProcPort->database_name : NULL;
}

const char *
plh_client_names_role(void)
{
	return MyProcPort != NULL ? MyProcPort->user_name : NULL;
}

/* A setting takes its new value before the old one is freed. */
const char *
plh_client_names_application(void)
{
	return application_name;
}
