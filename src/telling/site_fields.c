/*
 * site_fields.c
 *	  What the call site holds that holds most, and where it is, as fields of sentences.
 */
#include "postgres.h"

#include "report/blamed_code.h"
#include "report/listed_site.h"
#include "report/words.h"
#include "telling/site_fields.h"

void
plh_site_fields_fill(PlhFields *fields, const PlhProfileImage *image,
					 const PlhSiteRecord *site, const PlhAccount *account,
					 PlhStackTexts *stacks, const char **nameless)
{
	PlhSiteFacts facts;
	PlhListedSite listed;
	int64		bytes = plh_largest_site_bytes(image, site, account);

	plh_site_facts_resolve(&facts, image, site, NULL);
	plh_listed_site_start(&listed, image, &facts);
	plh_listed_site_describe_stack(&listed, stacks);
	if (*nameless == NULL)
		*nameless = plh_blamed_code_nameless(&listed.stack);
	fields->bytes = plh_words_estimate(bytes, Min(facts.error_bytes, bytes));
	fields->site = plh_blamed_code_site(&listed.stack);
	fields->context = listed.context_name;
}
