/*
 * test_dump_files.c
 *	  Dump files: read back as they were written, and where they are damaged
 *	  either read or refused, with nothing left behind.
 */
#include "postgres.h"

#include <sys/mman.h>
#include <unistd.h>

#include "lib/stringinfo.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "backend.h"
#include "base/whole_io.h"
#include "dump/dump_format.h"
#include "dump/dump_writer.h"
#include "reader/dump_reader.h"
#include "reader/symbol_table.h"
#include "reader_tests.h"
#include "report/dump_symbols.h"
#include "server.h"
#include "sound_profile.h"

#define SEED 4242

/* A dump may take so many times its size to read, and the room at the start. */
#define MEMORY_FACTOR 100
#define MEMORY_START (1024 * 1024)

/* A file in memory, which is replaced by each try. */
static int	file = -1;
static char path[64];

/* The text of a dump. */
typedef struct Text
{
	char	   *data;
	Size		bytes;
} Text;

static void
set_file(const Text *text)
{
	if (ftruncate(file, 0) != 0 ||
		!plh_whole_io_write(file, text->data, text->bytes, 0))
		abort();
}

static Text
get_file(void)
{
	Text		text;

	text.bytes = lseek(file, 0, SEEK_END);
	text.data = palloc(text.bytes + 1);
	if (plh_whole_io_read(file, text.data, text.bytes, 0) != text.bytes)
		abort();
	text.data[text.bytes] = '\0';
	return text;
}

/* Write an image to the file; returns what is there then. */
static Text
write_dump(const PlhProfileImage *image, const PlhDumpExtras *extras)
{
	uint32		live_sites;

	if (ftruncate(file, 0) != 0 || lseek(file, 0, SEEK_SET) != 0 ||
		plh_dump_writer_write(file, image, extras, &live_sites) != 0)
		abort();
	return get_file();
}

/* An attempt to read the file. */
typedef struct Attempt
{
	bool		header_only;
	PlhDump    *dump;
} Attempt;

static void
read_dump(void *arg)
{
	Attempt    *attempt = arg;

	attempt->dump = NULL;
	attempt->dump = plh_dump_reader_read(path, attempt->header_only);
}

/* The next site that has ever had a sample: others are not in a dump. */
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

/* Are all sites of two images the same, and what they held at the baselines? */
static const char *
compare_sites(const PlhProfileImage *left, const PlhBaseline *left_baseline,
			  const PlhProfileImage *right, const PlhBaseline *right_baseline)
{
	const char *broken = NULL;
	uint32		left_position = 0;
	uint32		right_position = 0;
	const PlhSiteRecord *a;

	while ((a = next_dumped(left, &left_position)) != NULL && broken == NULL)
	{
		const PlhSiteRecord *b = next_dumped(right, &right_position);
		int64		figures[4];

		if (b == NULL)
			return "there are as many sites";
		broken = compare_stacks(left, a->key.stack, right, b->key.stack);
		if (broken == NULL)
			broken = compare_names(left, &a->key, right, &b->key);
		if (broken == NULL)
			broken = compare_counters(&a->counters, &b->counters);
		REQUIRE(broken, a->counters.live_variance == b->counters.live_variance);
		REQUIRE(broken, plh_profile_image_peak_bytes(left, a) ==
				plh_profile_image_peak_bytes(right, b));
		plh_baseline_site(left_baseline, plh_profile_image_offset(left, a),
						  &figures[0], &figures[1]);
		plh_baseline_site(right_baseline, plh_profile_image_offset(right, b),
						  &figures[2], &figures[3]);
		REQUIRE(broken, figures[0] == figures[2] && figures[1] == figures[3]);
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
	REQUIRE(broken, a->database_oid == b->database_oid);
	REQUIRE(broken, a->role_oid == b->role_oid);
	REQUIRE(broken, a->encoding == b->encoding);
	REQUIRE(broken, a->pg_version == b->pg_version);
	REQUIRE(broken, a->started_at == b->started_at);
	REQUIRE(broken, a->sample_interval == b->sample_interval);
	REQUIRE(broken, a->scope == b->scope);
	REQUIRE(broken, a->samples_taken == b->samples_taken);
	REQUIRE(broken, a->peak_bytes == b->peak_bytes && a->peak_bytes > 0);
	REQUIRE(broken, a->private_bytes == b->private_bytes);
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

	REQUIRE(broken, read->symbols != NULL);
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
			sources = plh_symbol_table_find(read->symbols, stack->frames[i],
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
test_round_trip(const PlhProfileImage *image)
{
	PlhBaseline *baseline = half_of_profile(image);
	PlhDumpExtras extras = {.reason = "growth",.baseline = baseline};
	Attempt		attempt = {0};
	PlhDump    *dump;
	Text		text;
	Text		again;

	plh_dump_symbols_make(plh_symbols_open(), image, &extras);
	text = write_dump(image, &extras);
	ok(sqlstate_of(read_dump, &attempt) == 0, "a dump is read");
	dump = attempt.dump;
	if (dump == NULL)
		return;
	ok_unbroken(compare_headers(image->header, dump->image->header),
				"of the same process");
	ok(strcmp(dump->reason, "growth") == 0 &&
	   dump->written_at == GetCurrentTimestamp(), "for the same reason, then");
	ok_unbroken(compare_modules(image, dump->image), "with the same modules");
	ok_unbroken(compare_sites(image, baseline, dump->image, dump->baseline),
				"and the same sites");
	ok_unbroken(compare_symbols(image, dump->image), "and the same symbols");

	extras.baseline = dump->baseline;
	again = write_dump(dump->image, &extras);
	ok(again.bytes == text.bytes &&
	   memcmp(again.data, text.data, text.bytes) == 0,
	   "a dump of that is the same, byte by byte");

	attempt.header_only = true;
	ok(sqlstate_of(read_dump, &attempt) == 0, "its start can be read alone");
	ok(attempt.dump->image->header->counters.live_bytes ==
	   dump->image->header->counters.live_bytes &&
	   attempt.dump->image->header->pid == image->header->pid,
	   "with the process and its sums");
	ok(open_files == 0, "no file is left open");
}

/* Use a dump that was read, in memory that ends where the image does. */
static void
use_dump(const PlhDump *dump, bool drawn)
{
	PlhProfileHeader *header = copy_profile(dump->image->header,
											dump->image->bytes);
	PlhProfileImage *image = palloc(sizeof(PlhProfileImage));
	PlhBaseline *baseline = dump->baseline;

	plh_profile_image_adopt(image, header, dump->image->bytes);
	image->alive = false;
	image->symbols = dump->image->symbols;
	if (baseline == NULL)
		baseline = half_of_profile(image);
	(void) walk_profile(image, baseline);
	judge_profile(image, baseline);
	dump_profile(image, baseline);
	if (drawn)
		draw_profile(image, baseline);
	free(header);
}

/* The ERRORs that a file may end in, by what is in it. */
static bool
is_documented(int sqlstate)
{
	return sqlstate == ERRCODE_DATA_CORRUPTED ||
		sqlstate == ERRCODE_FEATURE_NOT_SUPPORTED ||
		sqlstate == ERRCODE_PROGRAM_LIMIT_EXCEEDED;
}

/* Read a file with anything in it; 1 is added to one of the counts. */
static const char *
try_file(const Text *text, bool header_only, bool drawn, int *read_count,
		 int *refused_count)
{
	Attempt		attempt = {.header_only = header_only};
	MemoryContext reading = AllocSetContextCreate(CurrentMemoryContext,
												  "reading",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(reading);
	Size		before = palloced_bytes;
	const char *broken = NULL;
	int			sqlstate;

	set_file(text);
	palloced_peak = palloced_bytes;
	sqlstate = sqlstate_of(read_dump, &attempt);
	REQUIRE(broken, palloced_peak - before <
			MEMORY_START + MEMORY_FACTOR * text->bytes);
	REQUIRE(broken, open_files == 0);
	REQUIRE(broken, sqlstate == 0 || is_documented(sqlstate));
	*read_count += sqlstate == 0;
	*refused_count += sqlstate != 0;
	if (sqlstate == 0 && !header_only)
		use_dump(attempt.dump, drawn);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(reading);
	return broken;
}

/* A copy with bytes in the place of some. */
static Text
replace(const Text *text, Size start, Size old_bytes, const char *new_bytes,
		Size new_count)
{
	Text		copy;

	old_bytes = Min(old_bytes, text->bytes - start);
	copy.bytes = text->bytes - old_bytes + new_count;
	copy.data = palloc(copy.bytes + 1);
	memcpy(copy.data, text->data, start);
	memcpy(copy.data + start, new_bytes, new_count);
	memcpy(copy.data + start + new_count, text->data + start + old_bytes,
		   text->bytes - start - old_bytes + 1);
	return copy;
}

/* The start of the line that an offset is in, and its length with its end. */
static Size
line_at(const Text *text, Size offset, Size *bytes)
{
	Size		start = offset;
	const char *end = memchr(text->data + offset, '\n', text->bytes - offset);

	while (start > 0 && text->data[start - 1] != '\n')
		start--;
	*bytes = end == NULL ? text->bytes - start : end + 1 - (text->data + start);
	return start;
}

/* Another value in the place of one, behind a "=" or a blank. */
static Text
replace_value(pg_prng_state *prng, const Text *text, Size offset)
{
	static const char *const values[] = {
		"", "0", "1", "-1", "255", "257", "2147483647", "2147483648",
		"4294967295", "4294967296", "9223372036854775807",
		"9223372036854775808", "-9223372036854775808", "1e308", "1e309",
		"nan", "-inf", "0x", "0xffffffffffffffff", "%", "%0", "%00", "%41",
		"=", "#", "\n", "a", "query"
	};
	const char *value = values[random_below(prng, lengthof(values))];

	offset += strcspn(text->data + offset, "= \n");
	if (offset + 1 >= text->bytes)
		offset = 0;
	return replace(text, offset + 1, strcspn(text->data + offset + 1, " :]\n"),
				   value, strlen(value));
}

/* A word that is there many times: an address, or what is behind a "=". */
static Text
repeat_word(pg_prng_state *prng, const Text *text, Size offset)
{
	int			times = random_below(prng, 300);
	StringInfoData words;
	Size		bytes;
	Text		repeated;

	offset += strcspn(text->data + offset, "= \n");
	offset += text->data[offset] == '=';
	if (offset >= text->bytes)
		offset = 0;
	bytes = 1 + strcspn(text->data + offset + 1, " \n");
	bytes = Min(bytes, text->bytes - offset);
	initStringInfo(&words);
	for (int i = 0; i < times; i++)
		appendBinaryStringInfo(&words, text->data + offset, bytes);
	repeated = replace(text, offset, 0, words.data, words.len);
	pfree(words.data);
	return repeated;
}

/* Damage a dump somewhere, as files and those who edit them do. */
static Text
damage(pg_prng_state *prng, const Text *text)
{
	Size		offset = random_below(prng, text->bytes);
	Size		line_bytes;
	Size		line = line_at(text, offset, &line_bytes);
	char		c;

	switch (random_below(prng, 9))
	{
		case 0:
			c = text->data[offset] ^ 1 << random_below(prng, 8);
			return replace(text, offset, 1, &c, 1);
		case 1:
			return replace(text, offset, 1 + random_below(prng, 100), "", 0);
		case 2:
			return replace(text, offset, text->bytes, "", 0);
		case 3:
			return replace(text, line, line_bytes, "", 0);
		case 4:
			return replace(text, line, 0, text->data + line, line_bytes);
		case 5:
			return replace(text, random_below(prng, text->bytes), 0,
						   text->data + line, line_bytes);
		case 6:
			c = random_below(prng, 256);
			return replace(text, offset, random_below(prng, 2), &c, 1);
		case 7:
			return repeat_word(prng, text, offset);
		default:
			return replace_value(prng, text, offset);
	}
}

static void
test_damaged(const Text *sound)
{
	const char *broken = NULL;
	pg_prng_state prng;
	int			read_count = 0;
	int			refused_count = 0;

	pg_prng_seed(&prng, SEED);
	for (int i = 0; i < rounds(20000) && broken == NULL; i++)
	{
		Text		damaged = damage(&prng, sound);

		try_begins("damaged dumps", SEED, i);
		for (int more = random_below(&prng, 3); more > 1; more--)
		{
			Text		once = damaged;

			if (once.bytes > 0)
			{
				damaged = damage(&prng, &once);
				pfree(once.data);
			}
		}
		broken = try_file(&damaged, i % 8 == 0, i % 16 == 1, &read_count,
						  &refused_count);
		pfree(damaged.data);
	}
	try_begins(NULL, 0, 0);
	printf("# %d were read, %d refused\n", read_count, refused_count);
	ok_unbroken(broken, "damaged dumps are read, or refused");
	ok(read_count > 100 && refused_count > 100, "of both there were many");
}

/* Sites that hold more than can be added up. */
static void
test_large(const Text *sound)
{
	static const char field[] = " live_count=";
	Text		text = *sound;
	Attempt		attempt = {0};

	for (char *value = text.data; (value = strstr(value, field)) != NULL;)
	{
		Size		start = value + sizeof(field) - 1 - text.data;

		text = replace(&text, start, strspn(text.data + start, "0123456789"),
					   "9223372036854775807", 19);
		value = text.data + start;
	}
	set_file(&text);
	ok(sqlstate_of(read_dump, &attempt) == ERRCODE_DATA_CORRUPTED,
	   "what can't be added up is refused");
}

/* A build-id that is longer than any. */
static void
test_build_id(const Text *sound)
{
	static const char field[] = " build_id=";
	Size		start = strstr(sound->data, field) + sizeof(field) - 1 - sound->data;
	Attempt		attempt = {0};
	char		digits[2 * PLH_BUILD_ID_MAX + 2];
	Text		text;

	memset(digits, 'a', sizeof(digits));
	text = replace(sound, start, strspn(sound->data + start, "0123456789abcdef"),
				   digits, sizeof(digits) - 2);
	set_file(&text);
	ok(sqlstate_of(read_dump, &attempt) == 0, "a build-id of 20 bytes is read");
	text = replace(&text, start, 0, digits, 2);
	set_file(&text);
	ok(sqlstate_of(read_dump, &attempt) == ERRCODE_DATA_CORRUPTED,
	   "one of 21 is refused");
}

/* Every proper start of a dump is refused, and leaves nothing behind. */
static void
test_cut(const Text *sound)
{
	const char *broken = NULL;
	int			read_count = 0;
	int			refused_count = 0;

	for (Size bytes = 0; bytes < sound->bytes; bytes++)
	{
		Text		cut = {sound->data, bytes};

		try_begins("dumps cut short", 0, bytes);
		if (broken == NULL)
			broken = try_file(&cut, false, false, &read_count, &refused_count);
	}
	try_begins(NULL, 0, 0);
	ok_unbroken(broken, "dumps that end anywhere are refused in order");
	ok(read_count == 0 && refused_count == sound->bytes, "all of them");
}

void
test_dump_files(void)
{
	PlhProfileHeader *large = make_profile(300, SEED);
	PlhProfileHeader *small = make_profile(3, SEED);
	PlhDumpExtras extras = {.reason = "manual"};
	PlhProfileImage image;
	Text		text;

	file = memfd_create("dump", 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	statement_start = 5000000;
	plh_profile_image_adopt(&image, large, large->used_bytes);
	test_round_trip(&image);

	plh_profile_image_adopt(&image, small, small->used_bytes);
	extras.baseline = half_of_profile(&image);
	plh_dump_symbols_make(plh_symbols_open(), &image, &extras);
	text = write_dump(&image, &extras);
	printf("# a dump of %zu bytes\n", text.bytes);
	test_large(&text);
	test_build_id(&text);
	test_damaged(&text);
	test_cut(&text);
	close(file);
	free(large);
	free(small);
	forget_memory();
}
