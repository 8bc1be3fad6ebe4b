/*
 * statement_form.c
 *	  What form a statement has, as far as advice depends on it.
 *
 * Profiles keep the beginning of each text.  What cannot be told by that is of no known form.
 */
#include "postgres.h"

#include "profile/statement_tokens.h"
#include "telling/statement_form.h"

static PlhStatementForm
form_of_text(const char *at, const char *end)
{
	PlhStatementForm form = PLH_FORM_OTHER;
	PlhToken	token;
	bool		is_insert = false;
	bool		was_ended = false;

	for (bool is_first = true; plh_statement_tokens_read_next(&token, at, end); is_first = false)
	{
		if (was_ended)
			return PLH_FORM_SEVERAL;
		if (!token.is_whole)
			break;
		if (is_first)
			is_insert = plh_statement_tokens_is_word(&token, "INSERT");
		else if (is_insert && plh_statement_tokens_is_word(&token, "VALUES"))
			form = PLH_FORM_VALUES;
		was_ended = *token.start == ';';
		at = token.end;
	}
	return form;
}

PlhStatementForm
plh_statement_form(const PlhProfileImage *image, const PlhSiteRecord *site)
{
	const PlhStatementRecord *statement = site == NULL ? NULL :
		plh_profile_image_statement(image, site->key.statement);

	return statement == NULL ? PLH_FORM_OTHER :
		form_of_text(statement->text, statement->text + statement->text_bytes);
}
