/*
 * image_suspects.c
 *	  The suspects of an image, and what they are called.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "process/profile_directory.h"
#include "profile/site_facts.h"
#include "reader/baseline_file.h"
#include "reader/database_text.h"
#include "verdict/image_suspects.h"

/*
 * The suspects of an image, by the baseline of its process if there is one.
 */
PlhSuspectList *
plh_image_suspects_find(const PlhProfileImage *image)
{
	const PlhProfileHeader *header = image->header;

	return plh_suspect_list_make(image,
								 plh_baseline_file_read(plh_profile_directory_path(),
														image),
								 image->alive ? GetCurrentTimestamp() :
								 header->counters.last_at);
}

/*
 * Describe the site of a suspect, in the current memory context, referring to the
 * image.  Returns false if a pattern suppresses it.
 */
bool
plh_image_suspects_describe(const PlhSuspect *suspect,
							const PlhProfileImage *image,
							PlhStackTexts *texts,
							const PlhSuppressions *suppressions,
							PlhListedSite *listed)
{
	PlhSiteFacts facts;

	plh_site_facts_resolve(&facts, image, suspect->site, NULL);
	plh_listed_site_start(listed, image, &facts);
	plh_listed_site_describe_stack(listed, texts);
	return !plh_suppression_any(suppressions, listed->context_name,
								&listed->stack);
}

/*
 * The name of the contexts that are suspect; NULL where none are.
 */
const char *
plh_image_suspects_contexts(const PlhSuspect *suspect,
							const PlhProfileImage *image)
{
	const PlhStringRecord *name = suspect->context == NULL ? NULL :
		plh_profile_image_string(image, suspect->context->context_name);

	return name == NULL ? NULL :
		plh_database_text_fit_foreign(name->text, name->text_bytes,
									  image->header->encoding);
}
