/*
 * listed_site.c
 *	  A call site as people read it: all facts as text and figures.
 */
#include "postgres.h"

#include "profile/profile_image.h"
#include "reader/database_text.h"
#include "reader/redaction.h"
#include "report/listed_site.h"

void
plh_listed_site_start(PlhListedSite *listed, const PlhProfileImage *image,
					  const PlhSiteFacts *facts)
{
	const PlhStatementRecord *statement = facts->statement;
	int			encoding = image->header->encoding;

	memset(listed, 0, sizeof(*listed));
	listed->image = image;
	listed->facts = *facts;
	if (facts->context != NULL)
		listed->context_name =
			plh_database_text_fit_foreign(facts->context->text,
										  facts->context->text_bytes, encoding);
	listed->lifetime = facts->lifetime;
	listed->query_id = statement == NULL ? 0 : (int64) statement->query_id;
	if (statement != NULL && statement->text_bytes > 0)
		listed->query =
			plh_redaction_statement(plh_database_text_fit_foreign(statement->text,
																  statement->text_bytes,
																  encoding));
	listed->bytes = facts->counters->live_bytes;
	listed->count = facts->counters->live_count;
}

void
plh_listed_site_describe_stack(PlhListedSite *listed, PlhStackTexts *texts)
{
	PlhFrameText *frame;

	listed->has_stack = listed->facts.stack != NULL;
	if (listed->has_stack)
	{
		plh_stack_text_describe(texts, listed->facts.stack, &listed->stack);
		return;
	}
	frame = palloc0(sizeof(PlhFrameText));
	frame->text = listed->facts.context == NULL ? PLH_NO_ROOM_NAME :
		listed->facts.site->key.stack == PLH_FORMER_STACKS ? PLH_FORMER_STACKS_NAME :
		PLH_NO_STACK_NAME;
	listed->stack.site = frame->text;
	listed->stack.frames = frame;
	listed->stack.frame_count = 1;
}
