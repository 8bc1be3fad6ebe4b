/*
 * test_dump_files.c
 *	  Dump files: what is read back is what was written.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "backend.h"
#include "dump_file.h"
#include "dump/heap_text.h"
#include "reader/frame_names.h"
#include "reader_tests.h"
#include "report/dump_symbols.h"
#include "server.h"
#include "sound_profile.h"
#include "sound_proof.h"

#define SEED 4242

/*
 * The next site that has ever had a sample: others are not in a dump.
 */
static const PlhSiteRecord *
next_dumped(const PlhProfileImage *image, uint32 *position)
{
	const PlhSiteRecord *site;

	do
		site = plh_profile_image_next_site(image, position);
	while (site != NULL && site->counters.total_samples == 0);
	return site;
}

static const char *
compare_stacks(const PlhProfileImage *left, uint32 left_offset,
			   const PlhProfileImage *right, uint32 right_offset)
{
	const PlhStackRecord *a = plh_profile_image_stack(left, left_offset);
	const PlhStackRecord *b = plh_profile_image_stack(right, right_offset);
	const char *broken = NULL;

	REQUIRE(broken, (a == NULL) == (b == NULL));
	if (broken != NULL || a == NULL)
		return broken;
	REQUIRE(broken, a->depth == b->depth);
	REQUIRE(broken, a->truncated == b->truncated);
	/* modules keep their numbers */
	REQUIRE(broken, memcmp(a->frames, b->frames, sizeof(PlhFrame) *
						   Min(a->depth, b->depth)) == 0);
	return broken;
}

static const char *
compare_names(const PlhProfileImage *left, const PlhSiteKey *left_key,
			  const PlhProfileImage *right, const PlhSiteKey *right_key)
{
	const PlhStringRecord *a = plh_profile_image_string(left, left_key->context_name);
	const PlhStringRecord *b = plh_profile_image_string(right, right_key->context_name);
	const PlhStatementRecord *s = plh_profile_image_statement(left, left_key->statement);
	const PlhStatementRecord *t = plh_profile_image_statement(right, right_key->statement);
	const char *broken = NULL;

	REQUIRE(broken, (a == NULL) == (b == NULL) && (s == NULL) == (t == NULL));
	REQUIRE(broken, a == NULL || strcmp(a->text, b->text) == 0);
	REQUIRE(broken, a == NULL || left_key->lifetime == right_key->lifetime);
	REQUIRE(broken, s == NULL || s->query_id == t->query_id);
	REQUIRE(broken, s == NULL || strcmp(s->text, t->text) == 0);
	return broken;
}

static const char *
compare_counters(const PlhCounters *a, const PlhCounters *b)
{
	const char *broken = NULL;

	REQUIRE(broken, a->live_bytes == b->live_bytes);
	REQUIRE(broken, a->live_count == b->live_count);
	REQUIRE(broken, a->total_bytes == b->total_bytes);
	REQUIRE(broken, a->total_count == b->total_count);
	REQUIRE(broken, a->live_samples == b->live_samples);
	REQUIRE(broken, a->total_samples == b->total_samples);
	REQUIRE(broken, a->first_at == b->first_at);
	REQUIRE(broken, a->last_at == b->last_at);
	return broken;
}

/* Is a site of one image the same in another, and what it held at the baseline? */
static const char *
compare_site(const PlhProfileImage *left, const PlhBaseline *left_baseline,
			 const PlhSiteRecord *a, const PlhProfileImage *right,
			 const PlhBaseline *right_baseline, const PlhSiteRecord *b)
{
	const char *broken = compare_stacks(left, a->key.stack, right, b->key.stack);
	int64		figures[4];

	if (broken == NULL)
		broken = compare_names(left, &a->key, right, &b->key);
	if (broken == NULL)
		broken = compare_counters(&a->counters, &b->counters);
	REQUIRE(broken, a->counters.live_variance == b->counters.live_variance);
	REQUIRE(broken, plh_site_peak_bytes(left->header, a) ==
			plh_site_peak_bytes(right->header, b));
	plh_baseline_site(left_baseline, plh_profile_image_offset(left, a),
					  &figures[0], &figures[1]);
	plh_baseline_site(right_baseline, plh_profile_image_offset(right, b),
					  &figures[2], &figures[3]);
	REQUIRE(broken, figures[0] == figures[2] && figures[1] == figures[3]);
	return broken;
}

/* Are the sites of one image those of another, in the same order? */
static const char *
compare_sites(const PlhProfileImage *left, const PlhBaseline *left_baseline,
			  const PlhProfileImage *right, const PlhBaseline *right_baseline)
{
	const char *broken = NULL;
	const PlhSiteRecord *a;
	uint32		left_position = 0;
	uint32		right_position = 0;

	while (broken == NULL && (a = next_dumped(left, &left_position)) != NULL)
	{
		const PlhSiteRecord *b = next_dumped(right, &right_position);

		broken = b == NULL ? "there are as many sites" :
			compare_site(left, left_baseline, a, right, right_baseline, b);
	}
	REQUIRE(broken, next_dumped(right, &right_position) == NULL);
	return broken;
}

static const char *
compare_modules(const PlhProfileImage *left, const PlhProfileImage *right)
{
	const char *broken = NULL;
	const PlhModuleRecord *a;
	uint32		index = 1;

	for (; (a = plh_profile_image_module(left, index)) != NULL; index++)
	{
		const PlhModuleRecord *b = plh_profile_image_module(right, index);

		if (b == NULL)
			return "there are as many modules";
		REQUIRE(broken, strcmp(a->path, b->path) == 0);
		REQUIRE(broken, a->build_id_bytes == b->build_id_bytes &&
				memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0);
		REQUIRE(broken, a->text_address == b->text_address &&
				a->text_bytes == b->text_bytes &&
				a->text_file_offset == b->text_file_offset);
		REQUIRE(broken, a->seen_at == b->seen_at);
	}
	REQUIRE(broken, index > 2);
	REQUIRE(broken, plh_profile_image_module(right, index) == NULL);
	return broken;
}

static const char *
compare_headers(const PlhProfileHeader *a, const PlhProfileHeader *b)
{
	const char *broken = NULL;

	REQUIRE(broken, a->pid == b->pid);
	REQUIRE(broken, strcmp(a->label, b->label) == 0);
	REQUIRE(broken, strcmp(a->application_name, b->application_name) == 0);
	REQUIRE(broken, strcmp(a->database, b->database) == 0);
	REQUIRE(broken, strcmp(a->role, b->role) == 0);
	REQUIRE(broken, memcmp(&a->death, &b->death, sizeof(PlhDeath)) == 0);
	REQUIRE(broken, a->database_oid == b->database_oid);
	REQUIRE(broken, a->role_oid == b->role_oid);
	REQUIRE(broken, a->encoding == b->encoding);
	REQUIRE(broken, a->pg_version == b->pg_version);
	REQUIRE(broken, a->started_at == b->started_at);
	REQUIRE(broken, a->sample_interval == b->sample_interval);
	REQUIRE(broken, a->scope == b->scope);
	REQUIRE(broken, a->samples_taken == b->samples_taken);
	REQUIRE(broken, a->peak_bytes == b->peak_bytes && a->peak_bytes > 0);
	REQUIRE(broken, a->overhead_bytes == b->overhead_bytes);
	REQUIRE(broken, a->profile_bytes == b->profile_bytes);
	for (int i = 0; i < PLH_LOSSES; i++)
		REQUIRE(broken, a->lost_samples[i] == b->lost_samples[i] &&
				a->lost_bytes[i] == b->lost_bytes[i]);
	return broken != NULL ? broken :
		compare_counters(&a->counters, &b->counters);
}

/* The symbols that came with a dump are those that were looked up. */
static const char *
compare_symbols(const PlhProfileImage *image, const PlhProfileImage *read)
{
	const PlhSiteRecord *site;
	PlhSymbolFrames found;
	uint32		position = 0;
	int			functions = 0;
	const char *broken = NULL;

	REQUIRE(broken, read->names != NULL);
	while (broken == NULL && (site = next_dumped(image, &position)) != NULL)
	{
		const PlhStackRecord *stack = plh_profile_image_stack(image,
															  site->key.stack);

		for (uint32 i = 0; stack != NULL && i < stack->depth; i++)
		{
			const PlhModuleRecord *module =
				plh_profile_image_module(image, PLH_FRAME_MODULE(stack->frames[i]));
			const PlhSourceFrame *sources;
			int			count;

			if (module == NULL)
				continue;
			sources = plh_frame_names_find(read->names, stack->frames[i],
										   &count);
			plh_symbols_lookup(NULL, module,
							   PLH_FRAME_ADDRESS(stack->frames[i]), &found);
			REQUIRE(broken, count == found.count);
			for (int j = 0; broken == NULL && j < count; j++)
			{
				const PlhSourceFrame *frame = &found.frames[j];

				functions++;
				REQUIRE(broken, strcmp(sources[j].function, frame->function) == 0);
				REQUIRE(broken, (sources[j].file == NULL) == (frame->file == NULL));
				REQUIRE(broken, frame->file == NULL ||
						strcmp(sources[j].file, frame->file) == 0);
				REQUIRE(broken, sources[j].line == frame->line);
				REQUIRE(broken, sources[j].inlined == frame->inlined);
			}
		}
	}
	REQUIRE(broken, functions > 10);
	return broken;
}

/* A dump of an image is that image. */
static void
test_round_trip(const PlhProfileImage *image, const PlhProof *proof)
{
	PlhBaseline *baseline = half_of_profile(image);
	PlhDumpExtras extras = {.reason = "growth",.baseline = baseline};
	Attempt		attempt = {0};
	PlhDump    *dump;
	Text		text;
	Text		again;

	plh_dump_symbols_make(plh_symbols_open(), image, &extras);
	text = write_dump(image, &extras);
	ok(read_dump(&attempt) == 0, "a dump is read");
	dump = attempt.dump;
	if (dump == NULL)
		return;
	ok_unbroken(compare_headers(image->header, dump->image->header),
				"a dump that is read has the header of its process");
	ok(strcmp(dump->reason, "growth") == 0 &&
	   dump->written_at == GetCurrentTimestamp(), "a dump that is read has its reason and time");
	ok_unbroken(compare_modules(image, dump->image), "a dump that is read has the same modules");
	ok_unbroken(compare_sites(image, baseline, dump->image, dump->baseline),
				"a dump that is read has the same sites");
	ok_unbroken(compare_symbols(image, dump->image), "a dump that is read has the same symbols");

	ok(dump->image->proof != NULL &&
	   memcmp(dump->image->proof, proof, plh_proof_image_bytes(proof)) == 0,
	   "a dump that is read has the last proof of its process");

	extras.baseline = dump->baseline;
	again = write_dump(dump->image, &extras);
	ok(again.bytes == text.bytes &&
	   memcmp(again.data, text.data, text.bytes) == 0,
	   "a dump of a dump is the same, byte by byte");

	attempt.header_only = true;
	ok(read_dump(&attempt) == 0, "the start of a dump can be read alone");
	ok(attempt.dump->image->header->counters.live_bytes ==
	   dump->image->header->counters.live_bytes &&
	   attempt.dump->image->header->pid == image->header->pid,
	   "the start of a dump has the process and its sums");
	ok(open_files == 0, "no dump file is left open");
}

/* The figures of a line of the text, or NULL if it is none of a stack. */
static bool
read_line(const char *line, long long *figures)
{
	return sscanf(line, "%lld: %lld [%lld: %lld] @ 0x", &figures[0], &figures[1],
				  &figures[2], &figures[3]) == 4;
}

/* The lines of stacks add up to line 1, and to the profile. */
static const char *
add_up(const char *text, const PlhCounters *counters)
{
	const char *broken = NULL;
	long long	sums[4] = {0};
	long long	first[4] = {0};
	long long	figures[4];

	(void) sscanf(text, "heap profile: %lld: %lld [%lld: %lld] @ heapprofile",
				  &first[0], &first[1], &first[2], &first[3]);
	for (const char *line = text; line != NULL; line = strchr(line, '\n'))
	{
		line += line != text;
		if (!read_line(line, figures))
			continue;
		for (int i = 0; i < 4; i++)
			sums[i] += figures[i];
	}
	for (int i = 0; i < 4; i++)
		REQUIRE(broken, sums[i] == first[i] && sums[i] > 0);
	REQUIRE(broken, first[1] == counters->live_bytes);
	REQUIRE(broken, first[3] == counters->total_bytes);
	REQUIRE(broken, strstr(text, "\nMAPPED_LIBRARIES:\n") != NULL);
	return broken;
}

/* The text of an image has all that it holds. */
static void
test_heap_text(const PlhProfileImage *image)
{
	char	   *text = NULL;
	size_t		bytes = 0;
	FILE	   *file = open_memstream(&text, &bytes);

	ok(plh_heap_text_write(file, image, "exit", GetCurrentTimestamp()) == 0,
	   "the text of an image is written");
	fclose(file);
	ok_unbroken(add_up(text, &image->header->counters),
				"the stacks of a text add up to the process");
	free(text);
	file = fopen("/dev/full", "w");
	ok(plh_heap_text_write(file, image, "exit", GetCurrentTimestamp()) == ENOSPC,
	   "a text on a full disk is a failure");
	fclose(file);
}

/* Names of users and applications have any characters. */
static void
test_hostile_text(PlhProfileHeader *header)
{
	PlhProfileImage image = {0};
	char	   *text = NULL;
	size_t		bytes = 0;
	FILE	   *file = open_memstream(&text, &bytes);

	strcpy(header->application_name, "app\nheap profile:\r1\x7F%d");
	plh_profile_image_adopt(&image, header, header->used_bytes);
	ok(plh_heap_text_write(file, &image, "exit", GetCurrentTimestamp()) == 0 &&
	   fclose(file) == 0 &&
	   strstr(text, ", application app heap profile: 1 %d\n") != NULL,
	   "control characters in a name become blanks");
	free(text);
}

void
test_dump_files(void)
{
	PlhProfileHeader *header = make_profile(300, SEED);
	PlhProfileImage image = {0};
	PlhProof   *proof;

	open_dump_file();
	statement_start = 5000000;
	plh_profile_image_adopt(&image, header, header->used_bytes);
	image.names = NULL;
	proof = make_proof(&image);
	write_proof(proof);
	test_round_trip(&image, proof);
	remove_proof();
	free(proof);
	test_heap_text(&image);
	test_hostile_text(header);
	free(header);
	forget_memory();
	close_dump_file();
}
