/*
 * advised.c
 *	  What several kinds of advice on a finding share.
 */
#include "postgres.h"

#include "telling/advised.h"

int64
plh_advised_contexts(const PlhProfileImage *image, const char *name)
{
	const PlhContextRecord *record;
	uint32		position = 0;
	int64		contexts = 0;

	while ((record = plh_profile_image_next_context(image, &position)) != NULL)
	{
		const PlhStringRecord *called = plh_profile_image_string(image, record->context_name);

		if (called != NULL && record->instances > 0 &&
			strncmp(called->text, name, strlen(name)) == 0)
			contexts += Min(record->instances, PG_INT64_MAX / 1000);
	}
	return contexts;
}
