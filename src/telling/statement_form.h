/*
 * statement_form.h
 *	  What form a statement has, as far as advice depends on it.
 */
#pragma once

#include "profile/profile_image.h"

typedef enum PlhStatementForm
{
	PLH_FORM_OTHER,
	PLH_FORM_SEVERAL,			/* several statements in one message */
	PLH_FORM_VALUES				/* INSERT with a list of rows */
} PlhStatementForm;

/* Of the statement that a site allocated for; either may be NULL. */
extern PlhStatementForm plh_statement_form(const PlhProfileImage *image, const PlhSiteRecord *site);
