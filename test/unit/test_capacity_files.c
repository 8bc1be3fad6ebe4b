/*
 * test_capacity_files.c
 *	  The file of capacity: written, read, damaged, and made by somebody else.
 */
#include "postgres.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/pg_prng.h"

#include "judge/capacity.h"
#include "judge/capacity_looks.h"
#include "reader/capacity_file.h"

#include "reader_tests.h"

#define CLUSTER UINT64CONST(530)
#define MB 1048576

static char directory[64];
static char path[PLH_PATH_MAX];
static PlhCapacityRecord written;
static PlhCapacityRecord read_back;

/* A record of three kinds. */
static void
fill(void)
{
	PlhCapacitySession sessions[30] = {{0}};

	plh_capacity_looks_begin(&written, CLUSTER, 1000);
	for (int look = 0; look < 40; look++)
	{
		for (int i = 0; i < lengthof(sessions); i++)
			sessions[i] = (PlhCapacitySession)
		{
			.kind = plh_capacity_looks_kind(&written, 10 + i % 3, "app", 2000 + look),
				.age_us = (int64) look * 60000000,.session_bytes = (look + i) * MB,
				.statement_bytes = i * MB,.is_active = true
		};
		plh_capacity_looks_add(&written, sessions, lengthof(sessions), 2000 + look, 5000000);
	}
	for (int i = 0; i < lengthof(sessions); i++)
		plh_capacity_looks_leave(&written, &sessions[i]);
}

static const char *
read_it(uint64 cluster)
{
	const char *problem;

	return plh_capacity_file_read(path, cluster, &read_back, &problem) ? problem : "none";
}

static void
check_reading(void)
{
	ok(strcmp(read_it(CLUSTER), "none") == 0, "without a file there is none");
	ok(plh_capacity_file_write(directory, &written, false) == 0 && read_it(CLUSTER) == NULL &&
	   memcmp(&written, &read_back, PLH_CAPACITY_BYTES(written.kind_count)) == 0,
	   "what was written is read");
	ok(strstr(read_it(CLUSTER + 1), "another database cluster") != NULL,
	   "that of another cluster is refused");
	ok(truncate(path, 100) == 0 && strstr(read_it(CLUSTER), "size") != NULL, "and one that was cut");
	ok(unlink(path) == 0 && mkdir(path, 0700) == 0 && read_it(CLUSTER) != NULL &&
	   rmdir(path) == 0, "and a directory");
}

/* Change one byte of the file, and put it back. */
static bool
is_damage_seen(off_t offset)
{
	FILE	   *file = fopen(path, "r+");
	int			byte;
	bool		seen;

	fseek(file, offset, SEEK_SET);
	byte = fgetc(file);
	fseek(file, offset, SEEK_SET);
	fputc(byte ^ 0x40, file);
	fclose(file);
	seen = read_it(CLUSTER) != NULL;
	file = fopen(path, "r+");
	fseek(file, offset, SEEK_SET);
	fputc(byte, file);
	fclose(file);
	return seen;
}

static void
check_damage(void)
{
	const char *broken = NULL;
	struct stat status;

	(void) plh_capacity_file_write(directory, &written, false);
	(void) stat(path, &status);
	for (off_t offset = 0; offset < status.st_size - (off_t) sizeof(uint32); offset += 61)
		REQUIRE(broken, is_damage_seen(offset));
	ok_unbroken(broken, "no damaged byte is taken for what was written");
}

/* Compute all that there is of a record that was accepted. */
static bool
is_finite(const PlhCapacityRecord *record)
{
	const PlhCapacityRoom room = {.bytes = INT64CONST(1) << 40,.once_bytes = MB};
	PlhCapacityConnections all = plh_capacity_of_all(record, &room);
	bool		sound = all.count >= 0 && all.low <= all.high + PLH_CAPACITY_MOST;

	for (uint32 i = 0; i < record->kind_count; i++)
	{
		const PlhCapacityKind *kind = &record->kinds[i];

		sound = sound && plh_capacity_of_kind(kind, &room).count >= 0 &&
			plh_capacity_growth(kind).bytes >= 0 &&
			plh_capacity_saved(kind, 60000000) >= -1;
	}
	return sound;
}

/* Put odd values in the place of any of its figures. */
static void
check_hostile(void)
{
	static const uint64 odd[] = {
		0, 1, UINT64CONST(0x7fffffffffffffff), UINT64CONST(0x8000000000000000),
		UINT64CONST(0xffffffffffffffff), UINT64CONST(0x7ff0000000000000),
		UINT64CONST(0xfff8000000000000), UINT64CONST(0x7fefffffffffffff),
		UINT64CONST(0x49e0000000000000)
	};
	const char *broken = NULL;
	Size		bytes = PLH_CAPACITY_BYTES(written.kind_count);
	int			accepted = 0;

	for (Size offset = 0; offset < bytes; offset += sizeof(uint64))
		for (int i = 0; i < lengthof(odd); i++)
		{
			memcpy(&read_back, &written, bytes);
			memcpy((char *) &read_back + offset, &odd[i], sizeof(uint64));
			if (plh_capacity_file_problem(&read_back, bytes, CLUSTER) != NULL)
				continue;
			accepted++;
			REQUIRE(broken, is_finite(&read_back));
		}
	ok(accepted > 0, "some odd figures may be");
	ok_unbroken(broken, "and nothing that is computed of these overflows");
}

void
test_capacity_files(void)
{
	strcpy(directory, "/tmp/capacity.XXXXXX");
	if (mkdtemp(directory) == NULL)
		abort();
	plh_capacity_file_path(path, directory, CLUSTER, "");
	fill();
	check_reading();
	check_damage();
	check_hostile();
	(void) unlink(path);
	(void) rmdir(directory);
}
