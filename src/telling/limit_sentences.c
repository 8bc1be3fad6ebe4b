/*
 * limit_sentences.c
 *	  What settings allow to a node of a plan, and to all of its nodes together.
 */
#include "postgres.h"

#include "report/words.h"
#include "telling/limit_sentences.h"
#include "telling/memory_holder.h"

static bool
is_of_sorts(const PlhFamily *family)
{
	return family == plh_family_of("TupleSort main");
}

int64
plh_limit_sentences_node_bytes(const PlhProfileImage *image, const PlhFamily *family)
{
	return is_of_sorts(family) ? image->header->sort_memory_bytes :
		image->header->node_memory_bytes;
}

/* What work_mem allows to nodes of that family. */
static void
say_node(PlhSaid *said, const PlhProfileImage *image, const PlhFamily *family)
{
	plh_sentences_say(said, is_of_sorts(family) ? PLH_SAYS_limit_sorts : PLH_SAYS_limit_hashes,
					  image->alive,
					  PLH_FIELDS(.limit = plh_words_size(plh_limit_sentences_node_bytes(image,
																						family))));
}

void
plh_limit_sentences_say(PlhSaid *said, const PlhProfileImage *image,
						const PlhFamily *family, PlhLimitKind kind)
{
	const PlhFields fields = {
		.limit = plh_words_size(plh_statement_limit_bytes(image->header, kind))
	};

	switch (kind)
	{
		case PLH_LIMIT_NODE:
			if (family != NULL)
				say_node(said, image, family);
			break;
		case PLH_LIMIT_MAINTENANCE:
			plh_sentences_say(said, PLH_SAYS_limit_maintenance, image->alive, &fields);
			break;
		case PLH_LIMIT_AUTOVACUUM:
			plh_sentences_say(said, PLH_SAYS_limit_autovacuum, image->alive, &fields);
			break;
		case PLH_LIMIT_DECODING:
			plh_sentences_say(said, PLH_SAYS_limit_decoding, image->alive, &fields);
			break;
		case PLH_LIMIT_NONE:
		case PLH_LIMIT_UNKNOWN:
			break;
	}
}

void
plh_limit_sentences_say_plan(PlhSaid *said, const PlhProfileImage *image)
{
	const PlhPortal *plan = plh_memory_holder_plan(image);

	if (plan == NULL || plan->plan_nodes + plan->plan_workers < 2)
		return;
	if (plan->plan_workers > 0)
		PLH_SAY(said, image->alive, plan_limit_workers,.count = plan->plan_nodes,
				.workers = plan->plan_workers,.limit = plh_words_size(plan->allowed_bytes));
	else
		PLH_SAY(said, image->alive, plan_limit,.count = plan->plan_nodes,
				.limit = plh_words_size(plan->allowed_bytes));
}
