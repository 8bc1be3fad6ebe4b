/*
 * seeds.c
 *	  Writes the first inputs of the targets, in the layout of this version, by
 *	  the functions that processes write their files with.
 *
 * Usage: seeds DIRECTORY, which has a folder per target; or seeds DIRECTORY FILE, for
 * the seed that the profile or the dump of a process is.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "catalog/pg_class.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "nodes/memnodes.h"
#include "plpgsql.h"
#include "utils/rel.h"

#include "dump_file.h"
#include "fuzz.h"
#include "judge/capacity_looks.h"
#include "profile/baseline.h"
#include "profile_input.h"
#include "report/dump_symbols.h"
#include "routine_input.h"
#include "sound_profile.h"
#include "sound_proof.h"
#include "symbols/symbol_protocol.h"
#include "symbols/symbols.h"

/* A larger profile is no seed. */
#define MAX_FILE_BYTES (1024 * 1024)

static const char *seeds;

static void
write_seed(const char *name, const void *data, Size bytes)
{
	char		path[MAXPGPATH];

	snprintf(path, sizeof(path), "%s/%s", seeds, name);
	fuzz_write_file(path, data, bytes);
}

/* A profile, or a dump, without the history of its header. */
static void
write_profile_seed(const char *name, const void *header, Size bytes)
{
	char	   *input = palloc(bytes - INPUT_GAP_BYTES);

	memcpy(input, header, INPUT_HEAD_BYTES);
	memcpy(input + INPUT_HEAD_BYTES,
		   (const char *) header + INPUT_HEAD_BYTES + INPUT_GAP_BYTES,
		   bytes - INPUT_HEAD_BYTES - INPUT_GAP_BYTES);
	write_seed(name, input, bytes - INPUT_GAP_BYTES);
	pfree(input);
}

/*
 * A file that a process has written: a dump, or a profile, of which the end may not
 * be used.
 */
static void
write_file_seed(const char *name, const char *path, bool is_dump)
{
	PlhProfileHeader *header = calloc(1, MAX_FILE_BYTES);
	int			fd = open(path, O_RDONLY);
	ssize_t		bytes = read(fd, header, MAX_FILE_BYTES);

	if (bytes < (ssize_t) sizeof(*header) || header->used_bytes > bytes)
	{
		fprintf(stderr, "\"%s\" is no profile of at most %d bytes\n", path,
				MAX_FILE_BYTES);
		exit(1);
	}
	write_profile_seed(name, header, is_dump ? bytes : header->used_bytes);
	close(fd);
	free(header);
}

/* A dump of an image, with or without symbols and a baseline. */
static void
write_dump_seed(const char *name, const PlhProfileImage *image, bool full)
{
	PlhDumpExtras extras = {.reason = "manual"};
	Text		text;

	if (full)
	{
		extras.baseline = half_of_profile(image);
		plh_dump_symbols_make(plh_symbols_open(), image, &extras);
	}
	text = write_dump(image, &extras);
	write_profile_seed(name, text.data, text.bytes);
}

/* A profile whose owner is said to write while it is read: see fuzz_profile.c. */
static void
write_growing_seed(const PlhProfileHeader *header)
{
	PlhProfileHeader *copy = copy_profile(header, header->used_bytes);

	copy->magic[sizeof(copy->magic) - 1] = 'g';
	copy->database_oid = PG_UINT32_MAX;
	write_profile_seed("profile/growing", copy, copy->used_bytes);
	free(copy);
}

/* A proof, and a dump that has it. */
static void
write_proof_seeds(const PlhProfileImage *image, int sites)
{
	PlhProof   *proof = make_proof(image);
	char		name[64];

	snprintf(name, sizeof(name), "proof/%d_sites", sites);
	write_seed(name, proof, plh_proof_image_bytes(proof));
	write_proof(proof);
	snprintf(name, sizeof(name), "dump/%d_sites_proof", sites);
	write_dump_seed(name, image, false);
	remove_proof();
	free(proof);
}

/* A profile with a number of sites, and what is made of it. */
static void
write_profile_seeds(int sites, uint64 seed)
{
	PlhProfileHeader *header = make_profile(sites, seed);
	PlhProfileImage image = {0};
	PlhBaseline *baseline;
	char		name[64];

	plh_profile_image_adopt(&image, header, header->used_bytes);
	image.names = NULL;
	snprintf(name, sizeof(name), "profile/%d_sites", sites);
	write_profile_seed(name, header, header->used_bytes);
	write_growing_seed(header);
	snprintf(name, sizeof(name), "dump/%d_sites", sites);
	write_dump_seed(name, &image, false);
	snprintf(name, sizeof(name), "dump/%d_sites_symbols", sites);
	write_dump_seed(name, &image, true);
	baseline = half_of_profile(&image);
	snprintf(name, sizeof(name), "baseline/%d_sites", sites);
	write_seed(name, baseline, offsetof(PlhBaseline, sites) +
			   sizeof(PlhBaselineSite) * baseline->site_count);
	write_proof_seeds(&image, sites);
	free(header);
	forget_memory();
}

/* Answers of the symbolizer: about an address in three functions, and the module. */
static void
write_answers_seed(void)
{
	static const PlhSourceFrame frames[] = {
		{"inner", "/src/inner.c", 1, true},
		{"outer", NULL, 0, false},
	};
	static PlhSymbolAnswer answer;
	StringInfoData all;

	initStringInfo(&all);
	for (int i = 0; i < 10; i++)
	{
		answer.status = i == 3 ? PLH_MODULE_REPLACED : PLH_MODULE_OPEN;
		answer.source = PLH_SOURCE_DEBUG_INFORMATION;
		answer.frames_bytes = 0;
		for (int j = 0; j < i % 3; j++)
			(void) plh_symbol_protocol_add_frame(&answer, &frames[j]);
		appendBinaryStringInfo(&all, (char *) &answer,
							   PLH_ANSWER_HEAD_BYTES + answer.frames_bytes);
	}
	write_seed("answers/all_kinds", all.data, all.len);
}

/* Where the parts of a seed of routines lie. */
enum
{
	CALLBACK = ROUTINE_INPUT_STACK + 64,
	CALL = CALLBACK + 64,
	FUNCTION = 64,
	STATEMENT = FUNCTION + 1024,
	RELATION = STATEMENT + 256,
	CLASS = RELATION + 1024,
	TEXT = CLASS + 256
};

static void
add_word(StringInfo seed, uint16 kind, uint16 at, uint64 value)
{
	const RoutineInput word = {value, at, kind};

	appendBinaryStringInfo(seed, (const char *) &word, sizeof(word));
}

/* Begin a seed with a callback of the language that has this number there. */
static void
begin_routine_seed(StringInfo seed, int language, uint16 argument)
{
	const uint16 first = CALLBACK;

	initStringInfo(seed);
	appendBinaryStringInfo(seed, (const char *) &first, sizeof(first));
	add_word(seed, ROUTINE_INPUT_NUMBER, CALLBACK + offsetof(ErrorContextCallback, callback), language);
	add_word(seed, ROUTINE_INPUT_POINTER, CALLBACK + offsetof(ErrorContextCallback, arg), argument);
	add_word(seed, ROUTINE_INPUT_NUMBER, TEXT, 0x65736c65736c65 /* "elesels" */ );
}

static void
add_call_of_plpgsql(StringInfo seed)
{
	begin_routine_seed(seed, 0, CALL);
	add_word(seed, ROUTINE_INPUT_POINTER, CALL + offsetof(PLpgSQL_execstate, func), FUNCTION);
	add_word(seed, ROUTINE_INPUT_POINTER, CALL + offsetof(PLpgSQL_execstate, err_stmt), STATEMENT);
	add_word(seed, ROUTINE_INPUT_POINTER, FUNCTION + offsetof(PLpgSQL_function, cur_estate), CALL);
	add_word(seed, ROUTINE_INPUT_POINTER, FUNCTION + offsetof(PLpgSQL_function, fn_signature), TEXT);
	add_word(seed, ROUTINE_INPUT_NUMBER, STATEMENT + offsetof(PLpgSQL_stmt, lineno), 7);
}

/* Routines of each language, as they are on the stack while they run. */
static void
write_routine_seeds(void)
{
	StringInfoData seed;

	add_call_of_plpgsql(&seed);
	write_seed("routines/plpgsql", seed.data, seed.len);

	add_call_of_plpgsql(&seed);
	add_word(&seed, ROUTINE_INPUT_POINTER, CALL + offsetof(PLpgSQL_execstate, trigdata), STATEMENT);
	add_word(&seed, ROUTINE_INPUT_TAG, STATEMENT + offsetof(TriggerData, type), 0);
	add_word(&seed, ROUTINE_INPUT_POINTER, STATEMENT + offsetof(TriggerData, tg_trigger), RELATION);
	add_word(&seed, ROUTINE_INPUT_POINTER, RELATION + offsetof(Trigger, tgname), TEXT);
	add_word(&seed, ROUTINE_INPUT_POINTER, STATEMENT + offsetof(TriggerData, tg_relation), RELATION + 512);
	add_word(&seed, ROUTINE_INPUT_POINTER, RELATION + 512 + offsetof(RelationData, rd_rel), CLASS);
	write_seed("routines/trigger", seed.data, seed.len);

	begin_routine_seed(&seed, 1, CALL);
	add_word(&seed, ROUTINE_INPUT_FUNCTION, CALL + offsetof(FmgrInfo, fn_addr), 0);
	add_word(&seed, ROUTINE_INPUT_POINTER, CALL + offsetof(FmgrInfo, fn_extra), FUNCTION);
	add_word(&seed, ROUTINE_INPUT_POINTER, FUNCTION, TEXT);
	write_seed("routines/sql", seed.data, seed.len);

	begin_routine_seed(&seed, 2, TEXT);
	write_seed("routines/perl", seed.data, seed.len);

	/* how both begin is in python_routine.c */
	begin_routine_seed(&seed, 3, CALL);
	add_word(&seed, ROUTINE_INPUT_POINTER, CALL, FUNCTION);
	add_word(&seed, ROUTINE_INPUT_POINTER, FUNCTION, RELATION);
	add_word(&seed, ROUTINE_INPUT_POINTER, FUNCTION + sizeof(void *), TEXT);
	add_word(&seed, ROUTINE_INPUT_POINTER, RELATION + offsetof(MemoryContextData, ident), TEXT);
	write_seed("routines/python", seed.data, seed.len);
}

/* What the keeper has seen at some looks at sessions of so many kinds. */
static void
write_capacity_seed(int kinds)
{
	static PlhCapacityRecord record;
	PlhCapacitySession sessions[12];

	plh_capacity_looks_begin(&record, 530, 1000);
	for (int look = 0; look < 30 && kinds > 0; look++)
	{
		for (int i = 0; i < lengthof(sessions); i++)
			sessions[i] = (PlhCapacitySession)
		{
			.kind = plh_capacity_looks_kind(&record, 10 + i % kinds, "app", 2000 + look),
				.age_us = (int64) look * 60000000,.session_bytes = (look + i) * 1048576,
				.statement_bytes = i * 1048576,.is_active = true
		};
		plh_capacity_looks_add(&record, sessions, lengthof(sessions), 2000 + look, 5000000);
	}
	write_seed(psprintf("capacity/%d_kinds", kinds), &record,
			   PLH_CAPACITY_BYTES(record.kind_count));
}

int
main(int argc, char **argv)
{
	if (argc < 2 || argc > 3)
		return 2;
	seeds = argv[1];
	if (argc == 3)
	{
		const char *name = strrchr(argv[2], '/');
		bool		is_dump = name != NULL && strchr(name, '.') != NULL;

		write_file_seed(is_dump ? psprintf("dump/server%s", name + 1) :
						"profile/server", argv[2], is_dump);
		return 0;
	}
	open_dump_file();
	write_profile_seeds(0, 1);
	write_profile_seeds(2, 2);
	write_profile_seeds(12, 3);
	write_capacity_seed(0);
	write_capacity_seed(1);
	write_capacity_seed(2);
	write_answers_seed();
	write_routine_seeds();
	close_dump_file();
	return 0;
}
