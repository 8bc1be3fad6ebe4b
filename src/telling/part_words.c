/*
 * part_words.c
 *	  What the parts of a server's memory are called, and what is said of them.
 */
#include "postgres.h"

#include "report/words.h"
#include "telling/part_words.h"
#include "telling/sentences.h"

/* A count that is older than this is told with its age. */
#define OLD_US (10 * USECS_PER_SEC)

typedef struct PartWords
{
	const char *name;
	const char *title;
	const char *detail;
} PartWords;

static const PartWords words[PLH_MEMORY_PARTS] = {
#define WORDS_OF(id, name, title, detail) [PLH_PART_##id] = {name, title, detail},
	PLH_EACH_MEMORY_PART(WORDS_OF)
#undef WORDS_OF
};

const char *
plh_part_words_name(const PlhMemoryPart *part)
{
	return words[part->id].name;
}

const char *
plh_part_words_title(const PlhMemoryPart *part)
{
	if (part->owner_pid != 0)
		return psprintf("mapped by process %d and its parallel workers", part->owner_pid);
	if (part->title == NULL)
		return words[part->id].title;
	return part->application == NULL ? part->title :
		PLH_PHRASE(true, type_of_application,.title = part->title,.name = part->application);
}

const char *
plh_part_words_detail(const PlhMemoryPart *part, TimestampTz now)
{
	const char *detail = words[part->id].detail;

	if (part->counted_at != 0 && now - part->counted_at >= OLD_US)
		return psprintf("Of some, the last count of memory contexts is %s old.",
						plh_words_duration(part->counted_at, now));
	return detail[0] == '\0' ? NULL : detail;
}
