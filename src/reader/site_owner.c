/*
 * site_owner.c
 *	  The processes that a call site is of, by what they have in common.
 */
#include "postgres.h"

#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "reader/database_text.h"
#include "reader/redaction.h"
#include "reader/site_owner.h"

/* A text of the process, fit for this database; NULL if it is empty. */
static const char *
own_text(const PlhProfileImage *image, const char *text)
{
	if (text[0] == '\0')
		return NULL;
	return plh_database_text_fit_foreign(text, strlen(text), image->header->encoding);
}

/* The name in the catalog; without one, as of a dropped database, the one that the client gave. */
static const char *
current_name(const PlhProfileImage *image, const char *name, const char *client_name)
{
	return name != NULL ? plh_database_text_fit(name) : own_text(image, client_name);
}

static const char *
database_of(const PlhProfileImage *image)
{
	Oid			oid = image->header->database_oid;

	return current_name(image, OidIsValid(oid) ? get_database_name(oid) : NULL,
						image->header->database);
}

static const char *
user_of(const PlhProfileImage *image)
{
	Oid			oid = image->header->role_oid;

	return current_name(image, OidIsValid(oid) ? GetUserNameFromId(oid, true) : NULL,
						image->header->role);
}

void
plh_site_owner_fill(PlhSiteOwner *owner, const PlhProfileImage *image, int parts)
{
	memset(owner, 0, sizeof(*owner));
	if (parts & PLH_OWNER_PID)
		owner->pid = image->header->pid;
	if (parts & PLH_OWNER_BACKEND_TYPE)
		owner->backend_type = own_text(image, plh_profile_image_backend_type(image));
	if (parts & PLH_OWNER_DATABASE)
		owner->database = plh_redaction_database(database_of(image));
	if (parts & PLH_OWNER_USER)
		owner->user = plh_redaction_role(user_of(image));
	if (parts & PLH_OWNER_APPLICATION)
		owner->application =
			plh_redaction_application(own_text(image, image->header->application_name));
}

bool
plh_site_owner_is_same(const PlhSiteOwner *left, const PlhSiteOwner *right)
{
	return left->pid == right->pid &&
		plh_texts_are_same(left->backend_type, right->backend_type) &&
		plh_texts_are_same(left->database, right->database) &&
		plh_texts_are_same(left->user, right->user) &&
		plh_texts_are_same(left->application, right->application);
}
