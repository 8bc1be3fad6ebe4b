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
#include "profile/dump_layout.h"
#include "reader/frame_names.h"
#include "reader_tests.h"
#include "report/dump_symbols.h"
#include "sound_profile.h"
#include "sound_proof.h"

#define SEED 4242

/* A dump may take its size times this factor to read, and the room at the start. */
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

/* A copy of the first bytes of a file. */
static Text
copy_of(const Text *text, Size bytes)
{
	Text		copy = {palloc(Max(bytes, 1)), bytes};

	memcpy(copy.data, text->data, Min(bytes, text->bytes));
	return copy;
}

/* A number that is odd in the place of an offset, a size or a count. */
static uint64
odd_number(pg_prng_state *prng, uint64 number)
{
	static const uint64 odd[] = {
		0, 1, 7, 8, 0xFF, 0xFFFF, PG_INT32_MAX, PG_UINT32_MAX, PG_INT64_MAX,
		PG_UINT64_MAX
	};

	switch (random_below(prng, 4))
	{
		case 0:
			return number + 8;
		case 1:
			return number - 8;
		case 2:
			return pg_prng_uint64(prng);
		default:
			return odd[random_below(prng, lengthof(odd))];
	}
}

/* Damage a copy of a dump in up to three places, mostly where it has numbers. */
static void
damage(pg_prng_state *prng, Text *text)
{
	for (int times = random_below(prng, 3); times >= 0; times--)
	{
		/* the history, which nothing refers to, is half of a small dump */
		Size		offset = random_below(prng, 3) == 0 ?
			random_below(prng, offsetof(PlhProfileHeader, history)) :
			sizeof(PlhProfileHeader) - 128 +
			random_below(prng, text->bytes - sizeof(PlhProfileHeader) + 120);
		uint64		number = 0;
		Size		bytes = random_below(prng, 2) == 0 ? 4 : 8;

		offset = Min(offset, text->bytes - 8) / 4 * 4;
		memcpy(&number, text->data + offset, bytes);
		number = random_below(prng, 5) == 0 ?
			number ^ (uint64) 1 << random_below(prng, 64) :
			odd_number(prng, number);
		memcpy(text->data + offset, &number, bytes);
	}
}

/* Dumps that are damaged, and say that they are not. */
static void
test_damaged(const Text *sound)
{
	pg_prng_state prng;
	const char *broken = NULL;
	int			read_count = 0;
	int			refused_count = 0;

	for (int round = 0; round < rounds(5000) && broken == NULL; round++)
	{
		Text		text = copy_of(sound, sound->bytes);

		pg_prng_seed(&prng, SEED + round);
		try_begins("damaged dumps", SEED, round);
		damage(&prng, &text);
		mend_foot(&text);
		broken = try_file(&text, round % 3 == 0, round % 10 == 0, &read_count,
						  &refused_count);
		pfree(text.data);
	}
	try_begins(NULL, 0, 0);
	ok_unbroken(broken, "dumps whose numbers make no sense are read or refused in order");
	ok(read_count > 100 && refused_count > 100, "many dumps whose numbers make no sense are read, and many refused");
}

/* A bit that is another one. */
static void
test_bits(const Text *sound)
{
	const char *broken = NULL;
	int			read_count = 0;
	int			refused_count = 0;

	for (Size offset = 0; offset < sound->bytes && broken == NULL; offset += 13)
	{
		Text		text = copy_of(sound, sound->bytes);

		try_begins("changed bits", 0, offset);
		text.data[offset] ^= 1 << offset % 8;
		broken = try_file(&text, false, false, &read_count, &refused_count);
		pfree(text.data);
	}
	try_begins(NULL, 0, 0);
	ok_unbroken(broken, "dumps with a changed bit are refused in order");
	ok(read_count == 0 && refused_count > 1000, "each dump with a changed bit is refused");
}

/* Dumps that end too early or too late. */
static void
test_cut(const Text *sound)
{
	const char *broken = NULL;
	int			read_count = 0;
	int			refused_count = 0;

	for (Size bytes = 0; bytes < sound->bytes && broken == NULL; bytes += 11)
	{
		Text		cut = {sound->data, bytes};

		try_begins("dumps cut short", 0, bytes);
		broken = try_file(&cut, bytes % 2 == 0, false, &read_count,
						  &refused_count);
	}
	try_begins(NULL, 0, 0);
	ok_unbroken(broken, "dumps that end anywhere are refused in order");
	ok(read_count == 0 && refused_count > 1000, "each dump that ends too early is refused");
}

static int
read_as(const Text *text, bool header_only)
{
	Attempt		attempt = {.header_only = header_only};

	set_dump_file(text);
	return read_dump(&attempt);
}

/* What only the foot tells. */
static void
test_foot(const Text *sound)
{
	Text		text = copy_of(sound, sound->bytes + 8);
	PlhDumpFoot *foot = (PlhDumpFoot *) (text.data + sound->bytes - sizeof(*foot));
	PlhProfileHeader *header = (PlhProfileHeader *) text.data;

	ok(read_as(&text, false) == ERRCODE_DATA_CORRUPTED,
	   "a dump with bytes behind its end is refused");
	text.bytes = sound->bytes;
	ok(read_as(&text, false) == 0 && read_as(&text, true) == 0,
	   "the dump itself is read");
	foot->checksum++;
	ok(read_as(&text, false) == ERRCODE_DATA_CORRUPTED,
	   "a dump with another checksum is refused");
	ok(read_as(&text, true) == 0, "the header of a dump with another checksum is read");
	foot->profile_bytes += 8;
	mend_foot(&text);
	ok(read_as(&text, false) == ERRCODE_DATA_CORRUPTED,
	   "a profile that goes into what follows it is refused");
	foot->profile_bytes = text.bytes;
	mend_foot(&text);
	ok(read_as(&text, true) == ERRCODE_DATA_CORRUPTED,
	   "a profile that is as large as the file is refused");
	memcpy(text.data, sound->data, sound->bytes);
	header->layout_version = PLH_LAYOUT_VERSION + 1;
	mend_foot(&text);
	ok(read_as(&text, false) == ERRCODE_FEATURE_NOT_SUPPORTED &&
	   read_as(&text, true) == ERRCODE_FEATURE_NOT_SUPPORTED,
	   "a dump of a later layout is refused as such");
	header->layout_version = PLH_LAYOUT_VERSION;
	header->pid = 0;
	mend_foot(&text);
	ok(read_as(&text, true) == ERRCODE_DATA_CORRUPTED,
	   "a dump of no process is refused");
	pfree(text.data);
}

/* A dump of that image and proof. */
static Text
dump_with(const PlhProfileImage *image, const PlhProof *proof)
{
	const PlhDumpExtras extras = {.reason = "manual"};
	Text		text;

	write_proof(proof);
	text = write_dump(image, &extras);
	remove_proof();
	return text;
}

/* A proof that can't be one of the process. */
static void
test_proofs(const PlhProfileImage *image)
{
	PlhProof   *proof = make_proof(image);
	PlhProofGroup *kind = &proof->groups[proof->group_count - 1];
	PlhProofHolding *holding = (PlhProofHolding *) plh_proof_image_holdings(proof);
	Text		text = dump_with(image, proof);

	ok(read_as(&text, false) == 0, "a dump with a proof is read");
	kind->lost_bytes = kind->bytes + 1;
	text = dump_with(image, proof);
	ok(read_as(&text, false) == ERRCODE_DATA_CORRUPTED,
	   "a dump with a proof of more lost than there is is refused");
	kind->lost_bytes = 0;
	holding->bytes = proof->bytes;
	text = dump_with(image, proof);
	ok(read_as(&text, false) == ERRCODE_DATA_CORRUPTED,
	   "a dump with a proof of more held than there is is refused");
	holding->bytes = 1;
	holding->group = proof->group_count;
	text = dump_with(image, proof);
	ok(read_as(&text, false) == ERRCODE_DATA_CORRUPTED,
	   "a dump with a proof of what is no kind of chunks is refused");
	free(proof);
}

/* A proof that is none of the process is not in its dump; one of another layout is passed over. */
static void
test_foreign_proofs(const PlhProfileImage *image)
{
	PlhProof   *proof = make_proof(image);
	Attempt		attempt = {0};
	Text		text = dump_with(image, proof);
	char	   *magic = memmem(text.data, text.bytes, PLH_PROOF_MAGIC, sizeof(PLH_PROOF_MAGIC));

	magic[sizeof(PLH_PROOF_MAGIC) - 2]++;
	mend_foot(&text);
	set_dump_file(&text);
	ok(read_dump(&attempt) == 0 && attempt.dump->image->proof == NULL,
	   "a dump with a proof of another layout is read without it");
	proof->process_start++;
	text = dump_with(image, proof);
	ok(read_dump(&attempt) == 0 && attempt.dump->image->proof == NULL,
	   "the proof of a former process with that pid is not in a dump");
	free(proof);
}

/* Names of functions that are none end the names, and no more. */
static void
test_names(void)
{
	static const PlhSourceFrame source = {"function", "file.c", 7, false};
	StringInfoData part;
	PlhFrameName *name;
	PlhFrameNames *names;
	const PlhSourceFrame *found;
	int			count;

	initStringInfo(&part);
	for (int frame = 1; frame <= 3; frame++)
		plh_frame_names_add(&part, frame, &source);
	names = plh_frame_names_read(part.data, part.len);
	found = plh_frame_names_find(names, 3, &count);
	ok(count == 1 && strcmp(found->function, "function") == 0 &&
	   strcmp(found->file, "file.c") == 0 && found->line == 7,
	   "names are read as they were written");
	name = (PlhFrameName *) part.data;
	name = (PlhFrameName *) (part.data + name->bytes);
	name->function_bytes = name->bytes;
	names = plh_frame_names_read(part.data, part.len);
	(void) plh_frame_names_find(names, 1, &count);
	ok(count == 1, "names in front of one that makes no sense are read");
	ok(plh_frame_names_find(names, 3, &count) == NULL && count == 0,
	   "names behind one that makes no sense are not read");
}

void
test_damaged_dumps(void)
{
	PlhProfileHeader *header = make_profile(3, SEED);
	PlhDumpExtras extras = {.reason = "manual"};
	PlhProfileImage image = {0};
	PlhProof   *proof;
	Text		text;

	open_dump_file();
	plh_profile_image_adopt(&image, header, header->used_bytes);
	extras.baseline = half_of_profile(&image);
	plh_dump_symbols_make(plh_symbols_open(), &image, &extras);
	proof = make_proof(&image);
	write_proof(proof);
	text = write_dump(&image, &extras);
	remove_proof();
	printf("# a dump of %zu bytes\n", text.bytes);
	test_foot(&text);
	test_names();
	test_proofs(&image);
	test_foreign_proofs(&image);
	test_bits(&text);
	test_cut(&text);
	test_damaged(&text);
	close_dump_file();
	free(proof);
	free(header);
	forget_memory();
}
