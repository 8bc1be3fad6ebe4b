/*
 * finding_evidence.c
 *	  Why something is a finding, in a few sentences.
 */
#include "postgres.h"

#include "telling/contexts_evidence.h"
#include "telling/finding_evidence.h"
#include "telling/holder_sentences.h"
#include "telling/process_evidence.h"
#include "telling/share_sentences.h"
#include "telling/site_evidence.h"
#include "telling/statement_evidence.h"

/* The same of contexts in which no call site has much. */
static void
say_shared_of_contexts(PlhSaid *said, const PlhFindingOrigin *origin)
{
	if (origin->shared != NULL)
		plh_share_sentences_say_shared(said, origin->shared);
}

/* What cursors hold that are open. */
static void
say_cursors(PlhSaid *said, const PlhFinding *finding, const PlhSharedFunction *shared,
			const PlhFoundIn *in, const PlhHolder *holder)
{
	plh_holder_sentences_say(said, holder, in->findings->account, in->image);
	if (finding->kind == PLH_KIND_STATEMENT)
		plh_share_sentences_say(said, finding, shared, in);
	plh_holder_sentences_say_end(said, holder, in->image->alive);
}

void
plh_finding_evidence_say(PlhSaid *said, const PlhFinding *finding, const PlhFoundIn *in,
						 const PlhFindingOrigin *origin)
{
	const PlhProfileImage *image = in->image;
	PlhHolder	holder = plh_holder_sentences_of(finding, image);

	if (plh_holder_sentences_explain(&holder, finding))
	{
		say_cursors(said, finding, origin->shared, in, &holder);
		return;
	}
	switch (finding->kind)
	{
		case PLH_KIND_SITE_LEAKS:
		case PLH_KIND_MALLOC_SITE_LEAKS:
			plh_site_evidence_say_leak(said, finding, image);
			plh_share_sentences_say_parts(said, finding, origin->shared, in);
			break;
		case PLH_KIND_SITE_LOST:
		case PLH_KIND_MALLOC_SITE_LOST:
			plh_site_evidence_say_lost(said, finding, image);
			plh_share_sentences_say_parts(said, finding, origin->shared, in);
			break;
		case PLH_KIND_SITE_REACHED:
			plh_site_evidence_say_reached(said, finding, image);
			plh_share_sentences_say_parts(said, finding, origin->shared, in);
			break;
		case PLH_KIND_SITE_HOLDS:
			plh_site_evidence_say_held(said, finding, image);
			plh_share_sentences_say_parts(said, finding, origin->shared, in);
			break;
		case PLH_KIND_SITE_GROWS:
			plh_site_evidence_say_growth(said, finding, image->alive);
			plh_share_sentences_say_parts(said, finding, origin->shared, in);
			break;
		case PLH_KIND_CONTEXTS_GROW:
		case PLH_KIND_CONTEXTS_HOLD:
		case PLH_KIND_DECODING:
			plh_contexts_evidence_say(said, finding, image, origin);
			say_shared_of_contexts(said, origin);
			break;
		case PLH_KIND_CACHE_GROWS:
			plh_contexts_evidence_say_cache(said, finding, image, origin);
			say_shared_of_contexts(said, origin);
			break;
		case PLH_KIND_STATEMENT:
			plh_statement_evidence_say(said, finding, in, origin);
			break;
		case PLH_KIND_MALLOC_GROWS:
		case PLH_KIND_MALLOC_REACHED:
			plh_process_evidence_say_malloc(said, finding, image, &holder);
			break;
		case PLH_KIND_MAPPED_GROWS:
		case PLH_KIND_OUTSIDE_GROWS:
			plh_process_evidence_say_outside(said, finding, image);
			break;
		case PLH_KIND_MALLOC_KEEPS:
			plh_process_evidence_say_freed(said, finding, image);
			break;
		case PLH_KIND_PROCESS_GROWS:
			plh_process_evidence_say_growth(said, finding, in);
			break;
		case PLH_KINDS:
			break;
	}
}
