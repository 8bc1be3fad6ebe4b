/*
 * sound_profile.c
 *	  A profile as its owner writes it, and all that readers do with one.
 */
#include "postgres.h"

#include <fcntl.h>
#include <math.h>

#include "access/xlog.h"
#include "miscadmin.h"
#include "telling/contexts_evidence.h"
#include "utils/timestamp.h"

#include "backend.h"
#include "base/settings.h"
#include "dump/heap_text.h"
#include "pprof/pprof.h"
#include "profile/profile.h"
#include "profile/profile_counters.h"
#include "profile/profile_courses.h"
#include "profile/profile_records.h"
#include "profile/profile_recycling.h"
#include "profile/site_facts.h"
#include "reader/baseline_file.h"
#include "report/call_tree.h"
#include "report/context_list.h"
#include "report/flamegraph.h"
#include "report/top.h"
#include "stack/modules.h"
#include "sound_profile.h"
#include "tap.h"
#include "judge/findings.h"
#include "judge/followed_parts.h"
#include "telling/finding_evidence.h"

/* Names with all that the formats of outputs have a meaning for. */
static const char *const names[] = {
	"CacheMemoryContext", "with blank", "100%", "a;b", "tab\there",
	"new\nline", "\xff\xfe", "na\xc3\xafve", "a=b query=c", "#", "\x7f", "%41"
};

/* An address in a binary of this process, or in none. */
static uintptr_t
address_of(pg_prng_state *prng)
{
	uintptr_t	within = random_below(prng, 40);

	switch (random_below(prng, 4))
	{
		case 0:
			return (uintptr_t) make_profile + within;
		case 1:
			return (uintptr_t) fopen + within;
		case 2:
			return (uintptr_t) pow + within;
		default:
			return 0x20000 + within;
	}
}

/* A frame of a routine, in any language or in none that is known, as an address. */
static uintptr_t
routine_of(pg_prng_state *prng)
{
	uint32		name = plh_profile_string(names[random_below(prng, lengthof(names))],
										  PLH_CONTEXT_NAME_MAX);

	return 1 + PLH_ROUTINE_FRAME(random_below(prng, 8), random_below(prng, 1000), name);
}

/* A stack; 0 as of a process' start, now and then. */
static uint32
add_stack(pg_prng_state *prng)
{
	PlhStack	stack = {0};

	if (random_below(prng, 10) == 0)
		return 0;
	stack.addresses = stack.buffer;
	stack.depth = random_below(prng, 10) == 0 ? 0 : 1 + random_below(prng, 6);
	stack.truncated = random_below(prng, 5) == 0;
	for (int i = 0; i < stack.depth; i++)
	{
		bool		is_routine = random_below(prng, 6) == 0;

		stack.routines += is_routine;
		stack.buffer[i] = is_routine ? routine_of(prng) : address_of(prng);
	}
	return plh_profile_stack(&stack);
}

/* Let the samples of a site that are to come be some seconds younger than its first. */
static void
let_time_pass(uint32 site, uint32 ticks)
{
	((PlhSiteRecord *) ((char *) plh_profile + site))->births.first_tick -= ticks;
	plh_profile->epoch++;
}

/* A site, and samples of it, some of which are gone again. */
static void
add_site(pg_prng_state *prng, uint32 number)
{
	const char *name = names[random_below(prng, lengthof(names))];
	PlhSiteKey	key = {0};
	char		statement[64];
	uint32		site;
	uint32		epoch;
	bool		gone;			/* hold nothing in the end */

	snprintf(statement, sizeof(statement), "SELECT '%s', x%u", name, number);
	key.stack = add_stack(prng);
	key.context_name = plh_profile_string(name, PLH_CONTEXT_NAME_MAX);
	key.lifetime = random_below(prng, 3) == 0 ? random_below(prng, 5) : 0;
	if (random_below(prng, 3) > 0)
		key.statement = plh_profile_statement(random_below(prng, 2) *
											  pg_prng_uint64(prng), statement);
	site = plh_profile_site(&key);
	epoch = plh_profile->epoch;
	gone = random_below(prng, 4) == 0;
	for (int i = random_below(prng, 40); i >= 0; i--)
	{
		if (i == 20)
			let_time_pass(site, number % 100);
		Size		size = 1 + random_below(prng, 10000);
		PlhDraw		draw = plh_sampling_draw(prng, size, 4096);
		uint32		tick = plh_profile_counters_add(site, size, 0, draw);

		if (gone || random_below(prng, 4) == 0)
			plh_profile_counters_subtract(site, size, draw, tick);
	}
	plh_profile->epoch = epoch;
}

/* Add an example of what contexts are of, before those that they have. */
static void
add_example(pg_prng_state *prng, PlhContextRecord *context)
{
	const char *text = names[random_below(prng, lengthof(names))];
	Size		bytes = offsetof(PlhExampleRecord, text) + strlen(text) + 1;
	PlhExampleRecord *example = plh_profile_recycling_take(bytes);

	example->next = context->examples;
	example->flags = random_below(prng, 16);
	example->contexts = random_below(prng, 100);
	example->bytes = random_below(prng, 100000);
	example->text_bytes = strlen(text);
	memcpy(example->text, text, strlen(text));
	context->examples = plh_profile_records_add(example, PLH_RECORD_EXAMPLE, bytes, 0);
}

static void
add_context(pg_prng_state *prng, uint32 name)
{
	PlhContextRecord *context = plh_profile_context(name,
													random_below(prng, 5));

	context->instances = random_below(prng, 10);
	context->bytes = random_below(prng, 100000);
	for (int i = random_below(prng, PLH_EXAMPLES); i > 0 && context->examples == 0; i--)
		add_example(prng, context);
}

/*
 * Let the contexts of two names, and two sites, be followed over time: at 8 points, from
 * the third on.
 */
static void
add_courses(pg_prng_state *prng)
{
	PlhDraw		exact = {.interval_bytes = 1};
	PlhContextRecord *contexts[2];

	for (int i = 0; i < lengthof(contexts); i++)
		contexts[i] = plh_profile_context(plh_profile_string(names[i], PLH_CONTEXT_NAME_MAX), 0);
	for (int point = 0; point < 8; point++)
	{
		for (int i = 0; i < lengthof(contexts); i++)
			contexts[i]->bytes = point < 2 ? 0 : (point + 1) * 2000000;
		if (point == 2)
			for (int i = 0; i < 2; i++)
			{
				PlhSiteKey	key = {add_stack(prng), contexts[i]->context_name};

				plh_profile_counters_add(plh_profile_site(&key), 5000000, 0, exact);
			}
		plh_profile_courses_add_point(point);
		plh_profile->history[point].at = (point + 1) * USECS_PER_SEC;
		plh_profile->history_count = point + 1;
	}
}

/* Who the process is. */
static void
fill_header(PlhProfileHeader *header)
{
	header->pid = 1234;
	header->process_start = 99;
	header->started_at = 1000000;
	header->database_oid = 5;
	header->role_oid = 4000000000U;
	header->system_identifier = GetSystemIdentifier();
	header->published_bytes = header->used_bytes;
	strcpy(header->label, "a worker, 100%");
	strcpy(header->application_name, "an application=100%");
	strcpy(header->database, names[7]);
	memset(header->role, '\xff', PLH_NAME_MAX - 1);
	header->death.at = 2000000;
	header->death.kind = PLH_DEATH_WITH_PROCESS;
	header->death.number = 4711;
	header->encoding = database_encoding;
	header->sample_interval = 4096;
	header->scope = PLH_SCOPE_ALL;
	header->epoch = 100;
	header->samples_taken = 12345;
	header->overhead_bytes = 4096;
	header->lost_samples[PLH_LOSS_PROFILE] = 3;
	header->lost_bytes[PLH_LOSS_PROFILE] = 300;
}

/*
 * The first bytes of a profile, behind which nothing can be read.  To be freed
 * by the caller.
 */
PlhProfileHeader *
copy_profile(const PlhProfileHeader *header, Size bytes)
{
	return memcpy(malloc(bytes), header, bytes);
}

/* Let a round of recycling pass. */
static void
give_up_records(void)
{
	plh_profile_recycling_suspend();
	plh_profile_recycling_resume();
}

/*
 * A profile with at most that number of sites, made by the owner's own functions.
 * Some records are free, or used again.  To be freed by the caller.
 */
PlhProfileHeader *
make_profile(int sites, uint64 seed)
{
	PlhProfileHeader *copy;
	pg_prng_state prng;

	pg_prng_seed(&prng, seed);
	plh_load_settings.max_profile_size = 16 * 1024 * 1024;
	plh_modules_refresh();
	if (!plh_profile_begin())
		abort();
	plh_profile_counters_start();
	for (int i = 0; i < sites; i++)
	{
		add_site(&prng, i);
		if (i == sites / 2)
			give_up_records();
	}
	give_up_records();
	for (int i = 0; i < 3; i++)
		add_context(&prng, plh_profile_string(names[i], PLH_CONTEXT_NAME_MAX));
	if (sites > 0)
		add_courses(&prng);
	fill_header(plh_profile);
	copy = copy_profile(plh_profile, plh_profile->used_bytes);
	plh_profile_counters_forget();
	plh_profile_courses_forget();
	plh_profile_forget();
	return copy;
}

/*
 * A baseline at which all sites held half of what they hold, palloc'd.
 */
PlhBaseline *
half_of_profile(const PlhProfileImage *image)
{
	PlhBaseline *baseline = plh_baseline_file_create(image->header->pid);
	const PlhSiteRecord *site;
	uint32		position = 0;

	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
		plh_baseline_file_add(&baseline, plh_profile_image_offset(image, site),
							  site->counters.live_bytes / 2,
							  site->counters.live_count / 2);
	return baseline;
}

/* Bytes of a text are readable, and the text ends where it is said to. */
static bool
is_text(const char *text, Size bytes)
{
	return strnlen(text, bytes + 1) <= bytes;
}

static const char *
walk_site(const PlhProfileImage *image, const PlhSiteRecord *site,
		  const PlhBaseline *baseline)
{
	const PlhStackRecord *stack = plh_profile_image_stack(image,
														  site->key.stack);
	const PlhStringRecord *string =
		plh_profile_image_string(image, site->key.context_name);
	const PlhStatementRecord *statement =
		plh_profile_image_statement(image, site->key.statement);
	uint32		offset = plh_profile_image_offset(image, site);
	PlhSiteAge	ages[PLH_SPANS];
	const char *broken = NULL;
	int64		bytes;
	int64		count;

	REQUIRE(broken, plh_profile_image_site(image, offset) == site);
	REQUIRE(broken, plh_site_facts_ages(ages, image, site, DT_NOEND) <= PLH_SPANS);
	for (uint32 i = 0; stack != NULL && i < stack->depth; i++)
	{
		const PlhModuleRecord *module =
			plh_profile_image_module(image, PLH_FRAME_MODULE(stack->frames[i]));

		if (module != NULL)
			REQUIRE(broken, is_text(module->path, module->path_bytes));
	}
	if (string != NULL)
		REQUIRE(broken, is_text(string->text, string->text_bytes));
	if (statement != NULL)
		REQUIRE(broken, is_text(statement->text, statement->text_bytes));
	(void) plh_site_peak_bytes(image->header, site);
	plh_baseline_site(baseline, offset, &bytes, &count);
	return broken;
}

/* The parts that a history follows, of that kind. */
static const char *
walk_parts(const PlhProfileImage *image, PlhCourseKind kind)
{
	PlhFollowedParts *parts = plh_followed_parts_make(image, kind);
	const char *broken = NULL;

	REQUIRE(broken, parts->count <= PLH_COURSES);
	REQUIRE(broken, parts->point_count <= PLH_HISTORY_POINTS);
	for (int i = 0; i < parts->count; i++)
	{
		REQUIRE(broken, (parts->parts[i].site != NULL) == (kind == PLH_COURSE_SITE));
		for (int point = 0; point < parts->point_count; point++)
		{
			REQUIRE(broken, plh_followed_parts_bytes(&parts->parts[i], point) >= -1);
			REQUIRE(broken, plh_followed_parts_contexts(&parts->parts[i], point) >= -1);
		}
	}
	return broken;
}

/*
 * Whatever is in an image: its functions end, and stay within.  Returns what
 * does not hold.
 */
const char *
walk_profile(const PlhProfileImage *image, const PlhBaseline *baseline)
{
	Size		steps_left = image->bytes / sizeof(PlhRecord);
	const PlhSiteRecord *site;
	const PlhContextRecord *context;
	uint32		position = 0;
	const char *broken = NULL;

	while ((site = plh_profile_image_next_site(image, &position)) != NULL &&
		   steps_left-- > 0 && broken == NULL)
		broken = walk_site(image, site, baseline);
	position = 0;
	while ((context = plh_profile_image_next_context(image, &position)) != NULL &&
		   steps_left-- > 0)
	{
		char	   *texts[PLH_EXAMPLES];
		PlhSaid		sentence;

		(void) plh_profile_image_string(image, context->context_name);
		(void) plh_context_list_examples(context, image, 20, texts);
		plh_sentences_begin(&sentence);
		(void) plh_contexts_evidence_say_examples(&sentence, context, image);
	}
	REQUIRE(broken, steps_left < image->bytes);
	for (PlhCourseKind kind = PLH_COURSE_CONTEXTS; kind < PLH_COURSE_KINDS && broken == NULL; kind++)
		broken = walk_parts(image, kind);
	(void) plh_profile_image_module(image, PLH_IMAGE_MODULES - 1);
	(void) plh_profile_image_module(image, PG_UINT32_MAX);
	(void) plh_profile_image_lost_samples(image->header);
	REQUIRE(broken, plh_profile_image_surely_live_bytes(image->header) >= 0);
	REQUIRE(broken, plh_profile_image_held_bytes(image->header).bytes >= 0);
	REQUIRE(broken, plh_profile_image_held_bytes(image->header).error_bytes >= 0);
	return broken;
}

void
judge_profile(const PlhProfileImage *image, const PlhBaseline *baseline)
{
	const PlhFoundIn in = {
		.image = image,.findings = plh_findings_make(image, baseline, GetCurrentTimestamp(), NULL)
	};
	const PlhFindingOrigin origin = {PLH_PHASE_UNKNOWN};
	PlhSaid		evidence;

	plh_sentences_begin(&evidence);
	for (int i = 0; i < in.findings->count; i++)
		plh_finding_evidence_say(&evidence, &in.findings->list[i], &in, &origin);
}

void
dump_profile(const PlhProfileImage *image)
{
	FILE	   *file = fopen("/dev/null", "w");

	(void) plh_heap_text_write(file, image, "manual", GetCurrentTimestamp());
	fclose(file);
}

/*
 * The list that pictures are made of.
 */
PlhSiteList *
list_sites(const PlhProfileImage *image, const PlhBaseline *baseline)
{
	return plh_site_list_make(plh_symbols_open(), image, baseline,
							  GetCurrentTimestamp());
}

void
draw_profile(const PlhProfileImage *image, const PlhBaseline *baseline)
{
	PlhSiteList *list = list_sites(image, baseline);
	static const PlhPprofOptions everything = {
		.types = PLH_PPROF_ALLOC | PLH_PPROF_INUSE | PLH_PPROF_PEAK,
		.labels = (1 << PLH_PPROF_LABELS) - 1,
		.symbolize = true,
		.helpers = true
	};
	StringInfoData text;
	int			count;

	initStringInfo(&text);
	plh_flamegraph_append_folded(&text, list, true, true);
	plh_pprof_append(&text, list, &everything);
	(void) plh_call_tree_make(list, true, true, 20);
	for (PlhTopKind kind = 0; plh_top_kind_name(kind) != NULL; kind++)
		(void) plh_top_make(list, kind, &count);
	plh_site_list_subtract(list, list_sites(image, NULL));
}
