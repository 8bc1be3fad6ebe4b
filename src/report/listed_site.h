/*
 * listed_site.h
 *	  A call site as people read it: all facts as text and figures.
 *
 * Never called inside palloc.
 */
#pragma once

#include "profile/site_facts.h"
#include "reader/site_owner.h"
#include "report/stack_text.h"

typedef struct PlhListedSite
{
	const PlhProfileImage *image;	/* that has the site */
	const PlhSiteOwner *owner;	/* of its processes; NULL: not asked for */
	PlhSiteFacts facts;			/* which the texts below were made of */
	const char *context_name;	/* NULL for the catch-all site */
	const char *lifetime;		/* NULL for the catch-all site */
	int64		query_id;		/* 0 where there is none */
	const char *query;			/* NULL where none was running */
	PlhStackText stack;			/* at least one frame, once described */
	bool		has_stack;		/* else that frame says why not */
	int64		bytes;			/* live, or at the peak */
	int64		count;
	int64		old_bytes;		/* what growth is counted from; else 0 */
	int64		old_count;
} PlhListedSite;

/* All but the stack, which takes most time; in the current memory context and of the image. */
extern void plh_listed_site_start(PlhListedSite *listed, const PlhProfileImage *image,
								  const PlhSiteFacts *facts);

/* Where there is no stack, a single frame says why, so that its bytes are counted in every sum. */
extern void plh_listed_site_describe_stack(PlhListedSite *listed, PlhStackTexts *texts);

/* The bytes that count: the live ones, or their growth. */
static inline int64
plh_listed_site_bytes(const PlhListedSite *site)
{
	return site->bytes - site->old_bytes;
}

/* The chunks that count: the live ones, or how many more they became. */
static inline int64
plh_listed_site_count(const PlhListedSite *site)
{
	return site->count - site->old_count;
}

/* What stands for its memory context, and for its statement, in stacks. */
static inline const char *
plh_listed_site_context(const PlhListedSite *site)
{
	return site->context_name != NULL ? site->context_name : PLH_NO_CONTEXT_NAME;
}

static inline const char *
plh_listed_site_statement(const PlhListedSite *site)
{
	return site->query != NULL ? site->query : "[no statement]";
}
