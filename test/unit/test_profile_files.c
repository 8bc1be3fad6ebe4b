/*
 * test_profile_files.c
 *	  Files in the directory of the profiles: found, read, and passed over where
 *	  they are none.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend.h"
#include "base/limits.h"
#include "base/whole_io.h"
#include "reader/baseline_file.h"
#include "reader/profile_reader.h"
#include "reader_tests.h"
#include "sound_profile.h"

#define SEED 11

/* Seconds after which an attempt to read a file waits for ever. */
#define WAITING_SECONDS 180

/* The process that make_profile's profiles are of, and others. */
#define PID 1234
#define FIFO_PID 1235
#define DIRECTORY_PID 1236
#define SHORT_PID 1237
#define OTHER_PID 1238
#define CLUSTER_PID 1239

static char directory[] = "/tmp/plh_unit_XXXXXX";

static const char *
path_of(int pid)
{
	static char path[PLH_PATH_MAX];

	snprintf(path, sizeof(path), "%s/%d", directory, pid);
	return path;
}

/* Write the first bytes of a profile to the file of a process. */
static void
write_profile(int pid, const PlhProfileHeader *header, Size bytes)
{
	int			fd = open(path_of(pid), O_WRONLY | O_CREAT, S_IRUSR | S_IWUSR);

	if (fd < 0 || !plh_whole_io_write(fd, header, bytes, 0))
		abort();
	close(fd);
}

static void
count_image(PlhProfileImage *image, void *arg)
{
	++*(int *) arg;
}

static void
test_fifos(const PlhProfileHeader *header)
{
	PlhProfileHeader of_fifo = *header;
	PlhProfileImage image = {0};
	char		path[PLH_PATH_MAX];

	of_fifo.pid = FIFO_PID;
	plh_profile_image_adopt(&image, &of_fifo, sizeof(of_fifo));
	plh_baseline_path(path, sizeof(path), directory, FIFO_PID);
	if (mkfifo(path_of(FIFO_PID), S_IRUSR | S_IWUSR) != 0 ||
		mkfifo(path, S_IRUSR | S_IWUSR) != 0)
		abort();
	/* the end of the tests, if it comes */
	alarm(WAITING_SECONDS);
	ok(plh_profile_reader_find(directory, FIFO_PID, false) == NULL,
	   "nobody waits for a profile that is a FIFO");
	ok(plh_baseline_file_read(directory, &image) == NULL,
	   "nobody waits for a baseline that is a FIFO");
	alarm(0);
	unlink(path);
}

/* Give a profile the name that one has for which there is a dump, or take it back. */
static void
rename_profile(int pid, bool back)
{
	char		name[PLH_PATH_MAX];
	char		saved_name[PLH_PATH_MAX];

	snprintf(name, sizeof(name), "%s", path_of(pid));
	snprintf(saved_name, sizeof(saved_name), "%s.1.saved", name);
	if (rename(back ? saved_name : name, back ? name : saved_name) != 0)
		abort();
}

/* PlhProfileVisitor: rename all that are listed, and count. */
static void
rename_and_count(PlhProfileImage *image, void *arg)
{
	int		   *count = arg;

	if ((*count)++ > 0)
		return;
	rename_profile(PID, false);
	rename_profile(OTHER_PID, false);
}

/* Profiles that are renamed in the middle of a look are seen all the same. */
static void
test_renames(void)
{
	int			count = 0;

	plh_profile_reader_each(directory, 0, true, NULL, rename_and_count, &count);
	ok(count == 2, "a profile is found that is renamed meanwhile");
	rename_profile(PID, true);
	rename_profile(OTHER_PID, true);
}

static void
test_files(const PlhProfileHeader *header)
{
	PlhProfileHeader of_other_cluster = *header;
	PlhProfileImage *image;
	int			count = 0;

	write_profile(PID, header, header->used_bytes);
	write_profile(SHORT_PID, header, header->used_bytes - 8);
	write_profile(OTHER_PID, header, header->used_bytes);
	if (mkdir(path_of(DIRECTORY_PID), S_IRWXU) != 0)
		abort();
	image = plh_profile_reader_find(directory, PID, false);
	ok(image != NULL && image->bytes == header->used_bytes && !image->alive &&
	   memcmp(image->header, header, image->bytes) == 0,
	   "a profile is read as it was written");
	ok(plh_profile_reader_find(directory, SHORT_PID, false) == NULL,
	   "a profile that is shorter than it states is not read");
	ok(plh_profile_reader_find(directory, OTHER_PID, false) == NULL,
	   "a profile of another process is not read");
	ok(plh_profile_reader_find(directory, DIRECTORY_PID, false) == NULL,
	   "a directory in the place of a profile is not read");
	of_other_cluster.system_identifier++;
	write_profile(CLUSTER_PID, header, header->used_bytes);
	write_profile(CLUSTER_PID, &of_other_cluster, sizeof(of_other_cluster));
	ok(plh_profile_reader_find(directory, CLUSTER_PID, true) == NULL,
	   "a profile of another database cluster is not read");
	plh_profile_reader_each(directory, 0, false, NULL, count_image, &count);
	ok(count == 2, "other profiles in the directory are found");
	test_renames();
	ok(open_files == 0, "no profile is left open");
}

void
test_profile_files(void)
{
	PlhProfileHeader *header = make_profile(5, SEED);

	if (mkdtemp(directory) == NULL)
		abort();
	test_fifos(header);
	test_files(header);
	for (int pid = PID; pid <= CLUSTER_PID; pid++)
		(void) remove(path_of(pid));
	ok(rmdir(directory) == 0, "no file is left in the directory of profiles");
	free(header);
	forget_memory();
}
