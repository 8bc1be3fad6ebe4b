/*
 * test_damaged_dumps.c
 *	  Dump files that are damaged: either read or refused, with nothing left
 *	  behind.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/memutils.h"

#include "backend.h"
#include "dump_file.h"
#include "reader_tests.h"
#include "report/dump_symbols.h"
#include "sound_profile.h"

#define SEED 4242

/* A dump may take so many times its size to read, and the room at the start. */
#define MEMORY_FACTOR 100
#define MEMORY_START (1024 * 1024)

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

	set_dump_file(text);
	palloced_peak = palloced_bytes;
	sqlstate = read_dump(&attempt);
	REQUIRE(broken, palloced_peak - before <
			MEMORY_START + MEMORY_FACTOR * text->bytes);
	REQUIRE(broken, open_files == 0);
	REQUIRE(broken, sqlstate == 0 || is_dump_error(sqlstate));
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
	set_dump_file(&text);
	ok(read_dump(&attempt) == ERRCODE_DATA_CORRUPTED,
	   "what can't be added up is refused");
}

/* Have a text state its size. */
static void
state_size(Text *text)
{
	static const char field[] = " bytes=";
	char	   *value = strstr(text->data, field) + sizeof(field) - 1;
	char		digits[32];

	snprintf(digits, sizeof(digits), "%-15zu", text->bytes);
	memcpy(value, digits, strlen(digits));
}

/*
 * Lines that are missing are noticed even if the figures are as they were: a
 * dump states its size.
 */
static void
test_size(const Text *sound)
{
	Size		line_bytes;
	Size		line = line_at(sound, strstr(sound->data, "# module") - sound->data,
							   &line_bytes);
	Text		text = replace(sound, line + line_bytes - 1, 0, " a=b", 4);
	Attempt		attempt = {0};

	set_dump_file(&text);
	ok(read_dump(&attempt) == ERRCODE_DATA_CORRUPTED,
	   "a dump of another size is refused");
	attempt.header_only = true;
	ok(read_dump(&attempt) == 0, "its start still tells whose it is");
	attempt.header_only = false;
	state_size(&text);
	set_dump_file(&text);
	ok(read_dump(&attempt) == 0, "one that states its size is read");
}

/* Read a dump in which a field has so many bytes more; returns the SQLSTATE. */
static int
read_longer(const Text *sound, const char *field, Size bytes)
{
	Size		start = strstr(sound->data, field) + strlen(field) - sound->data;
	char	   *letters = memset(palloc(bytes), 'a', bytes);
	Text		text = replace(sound, start, strcspn(sound->data + start, " \n"),
							   letters, bytes);
	Attempt		attempt = {0};

	state_size(&text);
	set_dump_file(&text);
	return read_dump(&attempt);
}

/* Texts that are longer than a process keeps them. */
static void
test_texts(const Text *sound)
{
	ok(read_longer(sound, " name=", PLH_CONTEXT_NAME_MAX) == 0 &&
	   read_longer(sound, " query=", PLH_STATEMENT_MAX) == 0,
	   "texts of the greatest length are read");
	ok(read_longer(sound, " name=", PLH_CONTEXT_NAME_MAX + 1) ==
	   ERRCODE_DATA_CORRUPTED, "a longer name is refused");
	ok(read_longer(sound, " query=", PLH_STATEMENT_MAX + 1) ==
	   ERRCODE_DATA_CORRUPTED, "and a longer statement");
}

/* The most functions that a stack of an image has. */
static int
longest_stack(const PlhProfileImage *image)
{
	PlhSiteList *list = list_sites(image, NULL);
	int			longest = 0;

	for (int i = 0; i < list->count; i++)
		longest = Max(longest, list->sites[i].stack.frame_count);
	return longest;
}

/* A stack of one address, at which there are many functions. */
static void
test_functions(const Text *sound)
{
	static const char field[] = "# symbol address=";
	Size		line_bytes;
	Size		line = strstr(sound->data, field) - sound->data;
	uint64		address = strtoull(sound->data + line + strlen(field), NULL, 16);
	Text		text = *sound;
	Attempt		attempt = {0};
	StringInfoData addresses;
	Size		start;

	line = line_at(sound, line, &line_bytes);
	for (int i = 1; i < PLH_MAX_INLINED; i++)
		text = replace(&text, line, 0, sound->data + line, line_bytes);
	initStringInfo(&addresses);
	for (int i = 0; i < PLH_MAX_FRAMES; i++)
		appendStringInfo(&addresses, " 0x%llx",
						 (unsigned long long) address + (i > 0));
	start = strstr(text.data + line, " @ 0x") + strlen(" @") - text.data;
	text = replace(&text, start, strcspn(text.data + start, "\n"),
				   addresses.data, addresses.len);
	state_size(&text);
	set_dump_file(&text);
	ok(read_dump(&attempt) == 0 &&
	   longest_stack(attempt.dump->image) == 4 * PLH_MAX_FRAMES + 1,
	   "a stack has no more functions than a reader has room for");
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
	state_size(&text);
	set_dump_file(&text);
	ok(read_dump(&attempt) == 0, "a build-id of 20 bytes is read");
	text = replace(&text, start, 0, digits, 2);
	set_dump_file(&text);
	ok(read_dump(&attempt) == ERRCODE_DATA_CORRUPTED,
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
test_damaged_dumps(void)
{
	PlhProfileHeader *header = make_profile(3, SEED);
	PlhDumpExtras extras = {.reason = "manual"};
	PlhProfileImage image;
	Text		text;

	open_dump_file();
	plh_profile_image_adopt(&image, header, header->used_bytes);
	extras.baseline = half_of_profile(&image);
	plh_dump_symbols_make(plh_symbols_open(), &image, &extras);
	text = write_dump(&image, &extras);
	printf("# a dump of %zu bytes\n", text.bytes);
	test_large(&text);
	test_build_id(&text);
	test_size(&text);
	test_texts(&text);
	test_functions(&text);
	test_damaged(&text);
	test_cut(&text);
	close_dump_file();
	free(header);
	forget_memory();
}
