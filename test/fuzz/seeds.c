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

#include "lib/stringinfo.h"

#include "dump_file.h"
#include "fuzz.h"
#include "profile/baseline.h"
#include "profile_input.h"
#include "report/dump_symbols.h"
#include "sound_profile.h"
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
	image.moved = NULL;
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
	write_answers_seed();
	close_dump_file();
	return 0;
}
