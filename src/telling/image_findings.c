/*
 * image_findings.c
 *	  The findings of an image, and what they are called.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "judge/suspect.h"
#include "process/profile_directory.h"
#include "profile/site_facts.h"
#include "reader/baseline_file.h"
#include "report/context_list.h"
#include "report/shared_function.h"
#include "telling/site_family.h"
#include "telling/site_origins.h"
#include "telling/image_findings.h"

/*
 * Does the server fill a cache of its own there?  Anonymous record types are in one, but nothing
 * limits them.
 */
static bool
fills_cache(const PlhListedSite *listed)
{
	return plh_site_family(&listed->stack) == NULL &&
		plh_site_family_fills_cache(&listed->stack, listed->context_name);
}

/* What PlhCauses.fills_cache is, for such an argument. */
static bool
site_fills_cache(void *arg, const PlhSiteRecord *site)
{
	PlhNamedCauses *named = arg;
	PlhSiteFacts facts;
	PlhListedSite listed;

	plh_site_facts_resolve(&facts, named->image, site, NULL);
	plh_listed_site_start(&listed, named->image, &facts);
	if (named->texts == NULL)
		named->texts = plh_stack_text_open(named->symbols, named->image);
	plh_listed_site_describe_stack(&listed, named->texts);
	return listed.has_stack && fills_cache(&listed);
}

PlhFindings *
plh_image_findings_make(const PlhProfileImage *image, const PlhBaseline *baseline,
						TimestampTz counted_to, PlhSymbols *symbols)
{
	PlhNamedCauses named = {image, symbols, NULL};
	const PlhCauses causes = {
		plh_shared_function_causes, plh_site_origins_find, site_fills_cache, &named
	};

	return plh_findings_make(image, baseline, counted_to, symbols == NULL ? NULL : &causes);
}

PlhFindings *
plh_image_findings_find(const PlhProfileImage *image, PlhSymbols *symbols)
{
	return plh_image_findings_make(image,
								   plh_baseline_file_read(plh_profile_directory_path(), image),
								   image->alive ? GetCurrentTimestamp() :
								   image->header->counters.last_at, symbols);
}

/*
 * Is it not worth a word?  What fills one of the server's own caches is no leak.  And a cache of
 * the server in which most is an extension's is not full when the server's is.  Each session has
 * some anonymous record types, and only many of them are a fault.  What is lost always is one.
 */
static bool
is_known_cache(const PlhFinding *finding, const PlhListedSite *listed)
{
	const PlhStackText *stack = &listed->stack;
	const PlhFrameText *site = &stack->frames[stack->site_frame];
	const PlhFamily *family = plh_site_family(stack);

	if (plh_finding_is_lost(finding))
		return false;
	if (family != NULL && family->kind == PLH_FAMILY_CACHE)
		return finding->bytes < PLH_SUSPECT_LARGE_BYTES;
	if (plh_finding_subject(finding) == PLH_SUBJECT_SITE)
		return fills_cache(listed);
	return finding->kind == PLH_KIND_CACHE_GROWS && site->module != NULL &&
		!plh_site_family_is_of_server(site);
}

PlhShown
plh_image_findings_describe(const PlhFinding *finding, const PlhProfileImage *image,
							PlhStackTexts *texts,
							const PlhSuppressions *suppressions,
							PlhListedSite *listed)
{
	PlhSiteFacts facts;

	plh_site_facts_resolve(&facts, image, finding->site, NULL);
	plh_listed_site_start(listed, image, &facts);
	plh_listed_site_describe_stack(listed, texts);
	if (plh_suppression_any(suppressions, listed->context_name, &listed->stack))
		return PLH_SUPPRESSED;
	return listed->has_stack && is_known_cache(finding, listed) ? PLH_KNOWN_CACHE : PLH_SHOWN;
}

const char *
plh_image_findings_contexts(const PlhFinding *finding, const PlhListedSite *named,
							const PlhProfileImage *image)
{
	if (named != NULL && plh_finding_subject(finding) != PLH_SUBJECT_CONTEXTS)
		return named->context_name;
	return finding->context == NULL ? NULL :
		plh_context_list_name(image, finding->context->context_name);
}
