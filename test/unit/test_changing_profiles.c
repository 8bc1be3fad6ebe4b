/*
 * test_changing_profiles.c
 *	  A profile is read while its owner changes it: each row is of one moment.
 */
#include "postgres.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "access/xlog.h"

#include "backend.h"
#include "base/process_facts.h"
#include "base/whole_io.h"
#include "births.h"
#include "profile/profile.h"
#include "profile/profile_counters.h"
#include "profile/profile_file.h"
#include "profile/site_facts.h"
#include "reader/profile_reader.h"
#include "reader_tests.h"

/* All samples have this size, and stand for themselves. */
#define SAMPLE_BYTES 64

/* The number of sites, of which each has a few samples. */
#define SITES 3
#define SAMPLES_PER_SITE 2

#define READS 10000

/*
 * There is a census after so many rounds of the sites, a thousand times as often as in a server.
 * Some reads meet one, and are tried again.  None may take as long as all these rounds, or it would
 * use up its tries on a slow machine.
 */
#define ROUNDS_PER_CENSUS 1000

/*
 * A process does other things between two changes, if only to take the next stack.
 * One that did not could keep the line of its counters to itself for milliseconds.
 */
#define PAUSE_NS 300

/* A file is cut in so many of its reads, one after the other, and at each of so many bytes. */
#define READS_CUT 4
#define CUT_STEP 8

static char directory[] = "/dev/shm/plh_unit_XXXXXX";

/* Where the owner is at work in the middle of a read, and of which that has the place; 0: none. */
static Size cut_place;
static int	cut_read;

extern ssize_t __real_plh_whole_io_read(int fd, void *buffer, Size bytes, off_t offset);
extern ssize_t __wrap_plh_whole_io_read(int fd, void *buffer, Size bytes, off_t offset);

/* Make a profile of this process that others can read, with the sites. */
static void
begin_profile(uint32 *sites)
{
	if (!plh_profile_begin())
		_exit(1);
	plh_profile_counters_start();
	plh_profile->pid = getpid();
	plh_profile->process_start = plh_process_facts_start_ticks(getpid());
	plh_profile->system_identifier = GetSystemIdentifier();
	for (int i = 0; i < SITES; i++)
	{
		PlhSiteKey	key = {0};
		char		name[32];

		snprintf(name, sizeof(name), "context %d", i);
		key.context_name = plh_profile_string(name, PLH_CONTEXT_NAME_MAX);
		sites[i] = plh_profile_site(&key);
	}
	if (!plh_profile_file_publish(directory))
		_exit(1);
}

static void
pause_between_changes(void)
{
	struct timespec start;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - start.tv_sec) * INT64CONST(1000000000) +
		   now.tv_nsec - start.tv_nsec < PAUSE_NS);
}

/* Write figures as a census does: those of the contexts' records first. */
static void
write_census(int64 bytes)
{
	uint32		name = plh_profile_string("counted", PLH_CONTEXT_NAME_MAX);
	PlhContextRecord *record = plh_profile_context(name, PLH_LIFETIME_SESSION);

	plh_profile_turn_census();
	record->bytes = bytes;
	pause_between_changes();
	plh_profile->context_bytes = bytes;
	pause_between_changes();
	plh_profile->own_bytes = bytes;
	plh_profile_turn_census();
}

/* Allocate and free at each of the sites by turns, until we are killed. */
static void
run_owner(int ready_fd)
{
	PlhDraw		exact = {.interval_bytes = 1};
	uint32		sites[SITES];

	begin_profile(sites);
	write_census(0);
	if (write(ready_fd, "", 1) != 1)
		_exit(1);
	for (uint64 i = 0;; i++)
	{
		uint32		site = sites[i % SITES];

		if (i % ROUNDS_PER_CENSUS == 0)
			write_census(i);
		for (int sample = 0; sample < SAMPLES_PER_SITE; sample++)
		{
			plh_profile_counters_add(site, SAMPLE_BYTES, 0, exact);
			pause_between_changes();
		}
		for (int sample = 0; sample < SAMPLES_PER_SITE; sample++)
		{
			subtract_oldest(site, SAMPLE_BYTES, exact);
			pause_between_changes();
		}
	}
}

/* Stands for a reader that loses its processor in the middle of a copy, while there is a census. */
ssize_t
__wrap_plh_whole_io_read(int fd, void *buffer, Size bytes, off_t offset)
{
	Size		before = cut_place - offset;
	ssize_t		rest;

	if (cut_read == 0 || before >= bytes || --cut_read > 0)
		return __real_plh_whole_io_read(fd, buffer, bytes, offset);
	if (__real_plh_whole_io_read(fd, buffer, before, offset) != (ssize_t) before)
		return -1;
	write_census(plh_profile->own_bytes + 1);
	rest = __real_plh_whole_io_read(fd, (char *) buffer + before, bytes - before, offset + before);
	return rest < 0 ? -1 : (ssize_t) before + rest;
}

/* Are these counters those of a moment between two changes? */
static bool
is_whole(const PlhCounters *counters)
{
	return counters->live_count == counters->live_samples &&
		counters->live_bytes == SAMPLE_BYTES * counters->live_samples &&
		counters->total_count == counters->total_samples &&
		counters->total_bytes == SAMPLE_BYTES * counters->total_samples &&
		counters->live_samples >= 0 &&
		counters->live_samples <= SAMPLES_PER_SITE;
}

/* Are the figures of contexts in records, and in the header, those of one census? */
static bool
is_one_census(const PlhProfileImage *image, bool header_only)
{
	const PlhProfileHeader *header = image->header;
	const PlhContextRecord *record = NULL;
	uint32		position = 0;

	if (!header_only)
		record = plh_profile_image_next_context(image, &position);
	return header->context_bytes == header->own_bytes &&
		(record == NULL || record->bytes == header->context_bytes);
}

/* How many of the rows are torn that are made of an image? */
static int
torn_rows(const PlhProfileImage *image)
{
	const PlhSiteRecord *site;
	uint32		position = 0;
	int			torn = !is_whole(&image->header->counters);

	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
		torn += !is_whole(&site->counters) || !plh_site_facts_ages_add_up(site, plh_profile_image_at(image, site->spans,
																									 PLH_RECORD_SPANS));
	return torn;
}

/* Read the profile again and again, as a whole, its header, and the head of it. */
static void
read_profile(const char *path, int reads, int *read, int *torn, int *mixed)
{
	PlhProfileHeader header;
	bool		refused;

	for (int i = 0; i < reads; i++)
	{
		PlhProfileImage *image = plh_profile_reader_open(path, i % 4 == 0,
														 &refused);

		if (image == NULL || !image->alive)
			break;
		*torn += torn_rows(image);
		*mixed += !is_one_census(image, i % 4 == 0);
		(*read)++;
		forget_memory();
		if (!plh_profile_reader_peek(path, &header))
			break;
		*torn += !is_whole(&header.counters);
		*mixed += header.context_bytes != header.own_bytes;
	}
}

/* Read one's own profile once as a whole, and once what is peeked at; how often is it mixed? */
static int
mixed_if_cut(const char *path, Size place, int read)
{
	PlhProfileHeader header;
	PlhProfileImage *image;
	bool		refused;
	int			mixed;

	cut_place = place;
	cut_read = read;
	image = plh_profile_reader_open(path, false, &refused);
	mixed = image == NULL || !is_one_census(image, false);
	forget_memory();
	cut_read = read;
	mixed += !plh_profile_reader_peek(path, &header) || header.context_bytes != header.own_bytes;
	cut_read = 0;
	return mixed;
}

/* Exit with 0 if no census at any place of any read mixes figures; the reader is the owner. */
static void
run_cut_reads(void)
{
	char		path[PLH_PATH_MAX];
	uint32		sites[SITES];
	int			mixed = 0;

	begin_profile(sites);
	write_census(0);
	snprintf(path, sizeof(path), "%s/%d", directory, (int) getpid());
	for (int read = 1; read <= READS_CUT; read++)
		for (Size place = 0; place < plh_profile->used_bytes; place += CUT_STEP)
			mixed += mixed_if_cut(path, place, read);
	(void) remove(path);
	printf("# %d of %u cut reads are mixed\n", mixed,
		   2 * READS_CUT * (plh_profile->used_bytes / CUT_STEP));
	fflush(stdout);
	_exit(mixed == 0 ? 0 : 1);
}

/* Is it true of a process of its own that "run" exits with 0? */
static bool
succeeds(void (*run) (void))
{
	pid_t		child;
	int			status;

	fflush(stdout);
	child = fork();
	if (child == 0)
		run();
	return waitpid(child, &status, 0) == child && status == 0;
}

void
test_changing_profiles(void)
{
	char		path[PLH_PATH_MAX];
	char		byte;
	int			ready[2];
	int			read_count = 0;
	int			torn = 0;
	int			mixed = 0;
	pid_t		owner;

	if (mkdtemp(directory) == NULL || pipe(ready) != 0)
		abort();
	owner = fork();
	if (owner == 0)
		run_owner(ready[1]);
	close(ready[1]);
	snprintf(path, sizeof(path), "%s/%d", directory, (int) owner);
	if (read(ready[0], &byte, 1) == 1)
		read_profile(path, rounds(READS), &read_count, &torn, &mixed);
	close(ready[0]);
	ok(read_count == rounds(READS), "a profile that changes can be read");
	ok(torn == 0, psprintf("no row is torn of a profile that changes (%d of %d reads)",
						   torn, read_count));
	ok(mixed == 0, psprintf("its figures are those of one census (not in %d of %d reads)",
							mixed, read_count));

	ok(succeeds(run_cut_reads),
	   "nor are they mixed if all of a census is written in the middle of any read");

	/* a change that is never finished must not keep readers waiting */
	kill(owner, SIGKILL);
	waitpid(owner, NULL, 0);
	(void) remove(path);
	ok(rmdir(directory) == 0, "no file is left of a profile that was read");
}
