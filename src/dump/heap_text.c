/*
 * heap_text.c
 *	  The text of a profile for jeprof and pprof, whose form src/dump/README tells.
 *
 * Both skip lines that begin with "#", which are for people.  Each stack has one line, as both tell
 * call sites apart by their stacks only.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "base/plural.h"
#include "base/settings.h"
#include "dump/dump_addresses.h"
#include "dump/heap_text.h"
#include "profile/site_facts.h"
#include "reader/frame_names.h"
#include "reader/redaction.h"

/* Addresses in no module: of sites without a stack, and of stacks that were given up. */
#define NO_STACK_ADDRESS 1
#define FORMER_STACKS_ADDRESS 2

typedef struct HeapText
{
	FILE	   *file;
	const PlhProfileImage *image;
	PlhPlacement placement;
	uint32		count;			/* of the sites */
	const PlhSiteRecord *sites[FLEXIBLE_ARRAY_MEMBER];	/* by stack */
} HeapText;

/* Write a text of any content, as a part of a line. */
static void
put_text(FILE *file, const char *text)
{
	for (; *text != '\0'; text++)
	{
		unsigned char c = *text;

		putc(c < ' ' || c == 0x7F ? ' ' : c, file);
	}
}

static void
put_name(FILE *file, const char *what, const char *name)
{
	if (name[0] == '\0')
		return;
	fprintf(file, ", %s ", what);
	put_text(file, name);
}

static void
put_process(const HeapText *text, const char *reason, TimestampTz written_at)
{
	const PlhProfileHeader *header = text->image->header;

	fprintf(text->file, "# process %d, ", header->pid);
	put_text(text->file, plh_profile_image_backend_type(text->image));
	put_name(text->file, "user", plh_redaction_role(header->role));
	put_name(text->file, "database", plh_redaction_database(header->database));
	put_name(text->file, "application", plh_redaction_application(header->application_name));
	fprintf(text->file, "\n# PostgreSQL %u, started %s\n",
			header->pg_version / 10000, timestamptz_to_str(header->started_at));
	fprintf(text->file, "# written %s, %s\n", timestamptz_to_str(written_at),
			reason != NULL ? reason : "of the process as it was then");
}

static void
put_figures(const HeapText *text)
{
	const PlhProfileHeader *header = text->image->header;
	const PlhCounters *counters = &header->counters;

	fprintf(text->file, "# live: %lld %s +/- %.0f (95%%), from %lld %s\n",
			(long long) counters->live_bytes,
			plh_plural(counters->live_bytes, "byte", "bytes"),
			plh_profile_image_live_error_bytes(header),
			(long long) counters->live_samples,
			plh_plural(counters->live_samples, "sample", "samples"));
	fprintf(text->file, "# highest: %lld bytes, at %s\n",
			(long long) header->peak_bytes, timestamptz_to_str(header->peak_at));
	fprintf(text->file, "# sample interval: %u %s, scope %s; samples: %lld taken, %lld lost\n",
			header->sample_interval,
			plh_plural(header->sample_interval, "byte", "bytes"), plh_settings_scope_name(header->scope),
			(long long) header->samples_taken,
			(long long) plh_profile_image_lost_samples(header));
	if (header->census_at == 0)
		return;
	fprintf(text->file, "# counted at %s: %lld bytes in memory contexts, %lld in use and %lld free in malloc (-1: not known), %lld of own memory\n",
			timestamptz_to_str(header->census_at),
			(long long) header->context_bytes, (long long) header->malloc_bytes,
			(long long) header->malloc_free_bytes,
			(long long) header->own_bytes);
}

/* Write the names of functions in the section that jeprof looks for them in. */
static void
put_names(const HeapText *text)
{
	const PlhSourceFrame *sources;
	PlhFrame	frame;
	int			position = 0;
	int			count;

	fprintf(text->file, "--- symbol\nbinary=%s\n", my_exec_path);
	while ((sources = plh_frame_names_next(text->image->names, &position, &frame, &count)) != NULL)
	{
		fprintf(text->file, "0x%llx ", (unsigned long long)
				plh_dump_addresses_of(&text->placement, frame));
		for (int i = 0; i < count; i++)
		{
			fputs(i > 0 ? "--" : "", text->file);
			put_text(text->file, sources[i].function);
		}
		putc('\n', text->file);
	}
	fputs("---\n--- heap\n", text->file);
}

static void
put_counters(FILE *file, const PlhCounters *counters)
{
	fprintf(file, "%lld: %lld [%lld: %lld] @",
			(long long) (counters->live_bytes > 0 ? counters->live_count : 0),
			(long long) counters->live_bytes,
			(long long) (counters->total_bytes > 0 ? counters->total_count : 0),
			(long long) counters->total_bytes);
}

/* Add the figures of a site, or, as they are written, those of a stack. */
static void
add_counters(PlhCounters *sums, const PlhCounters *counters, bool as_written)
{
	sums->live_bytes += counters->live_bytes;
	sums->total_bytes += counters->total_bytes;
	if (!as_written || counters->live_bytes > 0)
		sums->live_count += counters->live_count;
	if (!as_written || counters->total_bytes > 0)
		sums->total_count += counters->total_count;
}

/*
 * Add up the sites of the next stack.  Returns false at the end; else *first is the first of them,
 * and *position the first of the stack behind it.
 */
static bool
next_stack(const HeapText *text, uint32 *position, uint32 *first, PlhCounters *sums)
{
	uint32		stack;

	memset(sums, 0, sizeof(*sums));
	*first = *position;
	if (*first == text->count)
		return false;
	stack = text->sites[*first]->key.stack;
	while (*position < text->count && text->sites[*position]->key.stack == stack)
		add_counters(sums, &text->sites[(*position)++]->counters, false);
	return true;
}

/* Write line 1.  The header of a process at work may be a sample ahead of its sites, or behind. */
static void
put_sums(const HeapText *text)
{
	PlhCounters sums = {0};
	PlhCounters of_stack;
	uint32		position = 0;
	uint32		first;

	while (next_stack(text, &position, &first, &of_stack))
		add_counters(&sums, &of_stack, true);
	fputs("heap profile: ", text->file);
	put_counters(text->file, &sums);
	fputs(" heapprofile\n", text->file);
}

/* Write a line for people about a site that holds something. */
static void
put_site(const HeapText *text, const PlhSiteRecord *site)
{
	PlhSiteFacts facts;

	if (site->counters.live_bytes <= 0)
		return;
	plh_site_facts_resolve(&facts, text->image, site, NULL);
	fprintf(text->file, "# %lld bytes +/- %lld in ",
			(long long) facts.counters->live_bytes, (long long) facts.error_bytes);
	put_text(text->file, facts.context != NULL ? facts.context->text : "no context");
	if (facts.lifetime != NULL)
		fprintf(text->file, " (%s)", facts.lifetime);
	if (facts.statement != NULL && facts.statement->query_id != 0)
		fprintf(text->file, ", query id %lld", (long long) facts.statement->query_id);
	if (facts.statement != NULL && facts.statement->text_bytes > 0)
		put_name(text->file, "statement", plh_redaction_statement(facts.statement->text));
	putc('\n', text->file);
}

static void
put_stack(const HeapText *text, const PlhSiteRecord *site)
{
	PlhSiteFacts facts;

	plh_site_facts_resolve(&facts, text->image, site, NULL);
	if (facts.stack == NULL)
		fprintf(text->file, " 0x%x", site->key.stack == PLH_FORMER_STACKS ?
				FORMER_STACKS_ADDRESS : NO_STACK_ADDRESS);
	for (uint32 i = 0; facts.stack != NULL && i < facts.stack->depth; i++)
	{
		/* jeprof knows functions by addresses only */
		if (!PLH_FRAME_IS_ROUTINE(facts.stack->frames[i]))
			fprintf(text->file, " 0x%llx", (unsigned long long)
					plh_dump_addresses_of(&text->placement, facts.stack->frames[i]) +
					(i > 0 ? 1 : 0));
	}
	putc('\n', text->file);
}

/* Write all stacks, each behind what its sites hold. */
static void
put_stacks(const HeapText *text)
{
	PlhCounters sums;
	uint32		position = 0;
	uint32		first;

	while (next_stack(text, &position, &first, &sums))
	{
		for (uint32 i = first; i < position; i++)
			put_site(text, text->sites[i]);
		put_counters(text->file, &sums);
		put_stack(text, text->sites[first]);
	}
}

/* Write a path, with the escapes of /proc/PID/maps. */
static void
put_path(FILE *file, const char *path)
{
	for (; *path != '\0'; path++)
	{
		unsigned char c = *path;

		if (c < ' ' || c == 0x7F)
			fprintf(file, "\\%03o", c);
		else
			putc(c, file);
	}
}

/* Write the modules in the form of /proc/PID/maps, behind their build-ids. */
static void
put_modules(const HeapText *text)
{
	const PlhModuleRecord *module;

	for (uint32 index = 1; (module = plh_profile_image_module(text->image, index)) != NULL; index++)
	{
		fputs("# build-id ", text->file);
		for (uint32 i = 0; i < module->build_id_bytes; i++)
			fprintf(text->file, "%02x", module->build_id[i]);
		putc(' ', text->file);
		put_text(text->file, module->path);
		putc('\n', text->file);
	}
	fputs("\nMAPPED_LIBRARIES:\n", text->file);
	for (uint32 index = 1; (module = plh_profile_image_module(text->image, index)) != NULL; index++)
	{
		uint64		start = text->placement.bases[index] + module->text_address;

		fprintf(text->file, "%llx-%llx r-xp %08llx 00:00 0 ", (unsigned long long) start,
				(unsigned long long) (start + module->text_bytes),
				(unsigned long long) module->text_file_offset);
		put_path(text->file, module->path);
		putc('\n', text->file);
	}
}

static int
compare_stacks(const void *left, const void *right)
{
	uint32		a = (*(const PlhSiteRecord *const *) left)->key.stack;
	uint32		b = (*(const PlhSiteRecord *const *) right)->key.stack;

	return a < b ? -1 : a > b;
}

/* Find the sites of an image.  Returns NULL if there is no memory. */
static HeapText *
collect_sites(const PlhProfileImage *image)
{
	HeapText   *text;
	const PlhSiteRecord *site;
	uint32		position = 0;
	uint32		count = 0;

	while (plh_profile_image_next_site(image, &position) != NULL)
		count++;
	text = malloc(offsetof(HeapText, sites) + sizeof(text->sites[0]) * count);
	if (text == NULL)
		return NULL;
	text->image = image;
	text->count = 0;
	position = 0;
	while (text->count < count && (site = plh_profile_image_next_site(image, &position)) != NULL)
	{
		if (site->counters.total_samples > 0)
			text->sites[text->count++] = site;
	}
	pg_qsort(text->sites, text->count, sizeof(text->sites[0]), compare_stacks);
	return text;
}

int
plh_heap_text_write(FILE *file, const PlhProfileImage *image,
					const char *reason, TimestampTz written_at)
{
	HeapText   *text = collect_sites(image);

	if (text == NULL)
		return ENOMEM;
	text->file = file;
	plh_dump_addresses_place(&text->placement, image);
	errno = 0;
	if (image->names != NULL)
		put_names(text);
	put_sums(text);
	put_process(text, reason, written_at);
	put_figures(text);
	put_stacks(text);
	put_modules(text);
	free(text);
	if (fflush(file) == 0 && !ferror(file))
		return 0;
	return errno != 0 ? errno : EIO;
}
