/*
 * test_reuse.c
 *	  Readers of profiles whose records are used again: baselines that were taken
 *	  before, and copies that were made meanwhile.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "access/xlog.h"

#include "backend.h"
#include "base/limits.h"
#include "base/settings.h"
#include "base/whole_io.h"
#include "births.h"
#include "profile/profile.h"
#include "profile/profile_counters.h"
#include "profile/profile_recycling.h"
#include "profile/site_facts.h"
#include "reader/baseline_file.h"
#include "stack/modules.h"
#include "reader_tests.h"
#include "sound_profile.h"

static ssize_t read_and_recycle(int fd, void *buffer, Size bytes,
								off_t offset);

#define plh_whole_io_read read_and_recycle
#include "reader/profile_reader.c"
#undef plh_whole_io_read

static char directory[] = "/tmp/plh_unit_XXXXXX";

static const PlhDraw exact = {.interval_bytes = 1};

/* What the owner does while its file is read. */
static int	rounds_to_come;
static int	copies;

/* Read, and let a round end behind each copy as long as some are to come. */
static ssize_t
read_and_recycle(int fd, void *buffer, Size bytes, off_t offset)
{
	ssize_t		done = plh_whole_io_read(fd, buffer, bytes, offset);
	char		path[PLH_PATH_MAX];
	uint32		round;
	int			writable;

	if (bytes <= sizeof(PlhProfileHeader))
		return done;
	copies++;
	if (rounds_to_come == 0)
		return done;
	rounds_to_come--;
	round = ((PlhProfileHeader *) buffer)->round + 1;
	snprintf(path, sizeof(path), "%s/1234", directory);
	writable = open(path, O_WRONLY);
	if (!plh_whole_io_write(writable, &round, sizeof(round),
							offsetof(PlhProfileHeader, round)))
		abort();
	close(writable);
	return done;
}

static void
test_torn_reads(void)
{
	PlhProfileHeader *header = make_profile(50, 5);
	PlhProfileImage *image;
	char		path[PLH_PATH_MAX];
	int			fd;

	snprintf(path, sizeof(path), "%s/1234", directory);
	fd = open(path, O_WRONLY | O_CREAT, S_IRUSR | S_IWUSR);
	header->system_identifier = GetSystemIdentifier();
	header->published_bytes = Max(header->used_bytes, PLH_PROFILE_FIRST_BYTES);
	if (!plh_whole_io_write(fd, header, header->used_bytes, 0) ||
		ftruncate(fd, header->published_bytes) != 0)
		abort();
	close(fd);

	copies = 0;
	image = plh_profile_reader_find(directory, 1234, false);
	ok(image != NULL && copies == 1, "a profile at rest is copied once");
	copies = 0;
	rounds_to_come = 3;
	image = plh_profile_reader_find(directory, 1234, false);
	ok(image != NULL && copies == 4 &&
	   image->header->round == header->round + 3,
	   "a profile whose records are used again is copied until they are not");
	copies = 0;
	rounds_to_come = 1000000;
	image = plh_profile_reader_find(directory, 1234, false);
	ok(image != NULL && copies > 4 && copies < 100, "a profile whose records are always used again is not copied for ever");
	rounds_to_come = 0;
	unlink(path);
	free(header);
}

static uint32
site_of(int stack, const char *statement)
{
	PlhStack	captured = {.addresses = captured.buffer,.depth = 1};
	PlhSiteKey	key = {0};

	captured.buffer[0] = 0x20000 + stack;
	key.stack = plh_profile_stack(&captured);
	key.context_name = plh_profile_string("context", PLH_CONTEXT_NAME_MAX);
	if (statement != NULL)
		key.statement = plh_profile_statement(0, statement);
	return plh_profile_site(&key);
}

static int64
held_at(const PlhBaseline *baseline, uint32 site)
{
	int64		bytes;
	int64		count;

	plh_baseline_site(baseline, site, &bytes, &count);
	return bytes;
}

/* Make sites until one has the record of that offset, and some rounds end. */
static bool
use_again(uint32 offset)
{
	char		text[32];

	for (int i = 0; i < 10000; i++)
	{
		uint32		site;

		snprintf(text, sizeof(text), "SELECT %d", i);
		site = site_of(3, text);
		plh_profile_counters_add(site, 1, 0, exact);
		if (site == offset)
			return true;
	}
	return false;
}

static void
test_baseline(void)
{
	PlhProfileImage *image;
	PlhBaseline *baseline;
	uint32		former;
	uint32		heir;
	uint32		held;
	uint32		changed;

	plh_load_settings.max_profile_size = 16 * 1024 * 1024;
	plh_modules_refresh();
	if (!plh_profile_begin())
		abort();
	plh_profile_counters_start();
	plh_profile->pid = 1234;
	heir = site_of(1, NULL);
	former = site_of(1, "SELECT former");
	held = site_of(2, "SELECT held");
	changed = site_of(4, "SELECT changed");
	plh_profile_counters_add(heir, 1, 0, exact);
	plh_profile_counters_add(former, 100, 0, exact);
	plh_profile_counters_add(held, 200, 0, exact);
	plh_profile_counters_add(changed, 50, 0, exact);
	ok(plh_baseline_file_take(directory, plh_profile_image_own(plh_profile)),
	   "a baseline is taken of sites that hold something");

	subtract_oldest(former, 100, exact);
	subtract_oldest(changed, 50, exact);
	/* a new peak, so that the former one is nobody's */
	plh_profile_counters_add(held, 1000, 0, exact);
	plh_profile_recycling_suspend();
	plh_profile_recycling_resume();
	ok(use_again(former), "the record of a site that holds nothing is used again");

	image = plh_profile_image_own(plh_profile);
	baseline = plh_baseline_file_read(directory, image);
	ok(baseline != NULL && held_at(baseline, former) == 0,
	   "a site in the place of another held nothing at the baseline");
	ok(held_at(baseline, heir) == 101,
	   "the heir of a site held at the baseline what that held");
	ok(held_at(baseline, changed) == 50,
	   "a site that only lost its statement keeps what it held");
	ok(held_at(baseline, held) == 200, "a site that is still there keeps what it held");
	plh_baseline_unlink(directory, 1234);
	plh_profile_counters_forget();
	plh_profile_forget();
}

/* A statement where another one was, as in a copy that is torn. */
static void
test_younger(void)
{
	PlhProfileHeader *header = make_profile(50, 5);
	PlhProfileImage image = {0};
	PlhSiteFacts facts;
	const PlhSiteRecord *site;
	uint32		position = 0;
	PlhRecord  *statement;

	plh_profile_image_adopt(&image, header, header->used_bytes);
	while ((site = plh_profile_image_next_site(&image, &position)) != NULL &&
		   site->key.statement == 0)
		;
	plh_site_facts_resolve(&facts, &image, site, NULL);
	ok(facts.statement != NULL, "a site is shown with its statement");
	statement = (PlhRecord *) ((char *) header + site->key.statement);
	statement->born = site->record.born + 1;
	plh_site_facts_resolve(&facts, &image, site, NULL);
	ok(facts.statement == NULL, "a site is not shown with a statement that is younger");
	free(header);
}

void
test_reuse(void)
{
	if (mkdtemp(directory) == NULL)
		abort();
	test_torn_reads();
	test_baseline();
	test_younger();
	ok(rmdir(directory) == 0, "no file is left in the directory of a reused profile");
	forget_memory();
}
