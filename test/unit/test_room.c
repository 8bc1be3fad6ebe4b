/*
 * test_room.c
 *	  How much of a file system profiles may take, and what happens to profiles
 *	  that find no room.
 */
#include "postgres.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "small_file_system.h"

uint64		file_system_bytes;
uint64		file_system_free;

/* statfs() of a file system of the size that a test wants. */
static int
sized_statfs(const char *path, struct statfs *status)
{
	if (statfs(path, status) != 0)
		return -1;
	if (file_system_bytes > 0)
	{
		status->f_bsize = 4096;
		status->f_blocks = file_system_bytes / 4096;
		status->f_bfree = status->f_bavail = file_system_free / 4096;
	}
	return 0;
}

#define statfs(path, status) sized_statfs(path, status)
#include "profile/shared_directory.c"
#undef statfs

#include "base/sealed_file.h"
#include "profile/profile.h"
#include "profile/profile_file.h"
#include "unit_tests.h"

/* Make a directory below /tmp; "directory" has room for its path. */
void
make_directory(char *directory, Size bytes)
{
	snprintf(directory, bytes, "/tmp/plh_unit_XXXXXX");
	ok(mkdtemp(directory) != NULL, "a directory for files is made");
}

void
remove_directory(const char *directory)
{
	char		command[128];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	ok(system(command) == 0, "the directory is removed");
}

static void
make_file(const char *directory, const char *name, Size bytes)
{
	char		path[128];
	int			fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CREAT, S_IRUSR | S_IWUSR);
	ok(fd >= 0 && posix_fallocate(fd, 0, bytes) == 0,
	   psprintf("file %s is made", name));
	close(fd);
}

static bool
exists(const char *directory, const char *name)
{
	char		path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return access(path, F_OK) == 0;
}

static void
test_room(void)
{
	char		directory[64];

	make_directory(directory, sizeof(directory));
	file_system_bytes = 64 * MB;
	file_system_free = 64 * MB;
	ok(plh_shared_directory_has_room(directory, 13 * MB, PLH_ROOM_RECORDS),
	   "records get nearly a quarter of an empty file system");
	ok(!plh_shared_directory_has_room(directory, 15 * MB, PLH_ROOM_RECORDS),
	   "records do not get all of a quarter");
	ok(plh_shared_directory_has_room(directory, 15 * MB, PLH_ROOM_HEADER),
	   "headers get the rest of a quarter");
	ok(!plh_shared_directory_has_room(directory, 17 * MB, PLH_ROOM_HEADER),
	   "headers do not get more than a quarter");

	file_system_free = 30 * MB;
	ok(plh_shared_directory_has_room(directory, 9 * MB, PLH_ROOM_RECORDS),
	   "what others take does not count as ours");
	ok(!plh_shared_directory_has_room(directory, 11 * MB, PLH_ROOM_RECORDS),
	   "records leave 16 MB and the room for headers");
	file_system_free = 17 * MB;
	ok(!plh_shared_directory_has_room(directory, 4096, PLH_ROOM_RECORDS),
	   "records leave room for headers");
	ok(plh_shared_directory_has_room(directory, 4096, PLH_ROOM_HEADER),
	   "headers of other processes get the room that records leave");
	file_system_free = 16 * MB;
	ok(!plh_shared_directory_has_room(directory, 4096, PLH_ROOM_HEADER),
	   "headers leave room for others");

	file_system_free = 40 * MB;
	make_file(directory, "1234", 8 * MB);
	ok(plh_shared_directory_has_room(directory, 5 * MB, PLH_ROOM_RECORDS),
	   "records get the rest of the share beside those that are there");
	ok(!plh_shared_directory_has_room(directory, 7 * MB, PLH_ROOM_RECORDS) &&
	   errno == ENOSPC, "records beyond the share have no room");
	make_file(directory, "77.1234567.saved", 4 * MB);
	make_file(directory, "x.saved", 4096);
	make_file(directory, "dropped.78", 4096);
	ok(plh_shared_directory_has_room(directory, 1 * MB, PLH_ROOM_RECORDS) &&
	   exists(directory, "77.1234567.saved"),
	   "a profile that was saved stays while there is room");
	ok(plh_shared_directory_has_room(directory, 5 * MB, PLH_ROOM_RECORDS) &&
	   !exists(directory, "77.1234567.saved") &&
	   !exists(directory, "dropped.78"), "a profile that was saved is given up for a live one");
	ok(exists(directory, "1234") && exists(directory, "x.saved"),
	   "no other file is given up for a live profile");
	remove_directory(directory);
	ok(!plh_shared_directory_has_room(directory, 4096, PLH_ROOM_HEADER) &&
	   errno == ENOENT, "a directory that is gone has no room");
	file_system_bytes = 0;
}

/* A redirection must not cut a file that is mapped. */
static void
test_sealed_file(void)
{
	char		directory[64];
	char		path[128];
	struct stat status;
	int			fd;

	make_directory(directory, sizeof(directory));
	snprintf(path, sizeof(path), "%s/file", directory);
	fd = plh_sealed_file_create(path);
	ok(fd >= 0 && write(fd, "1234", 4) == 4, "a file is created to write");
	ok(plh_sealed_file_seal(fd) && fstat(fd, &status) == 0 &&
	   (status.st_mode & 0777) == S_IRUSR, "a file is sealed");
	close(fd);
	fd = plh_sealed_file_open(path, status.st_ino);
	ok(fd >= 0 && write(fd, "56", 2) == 2, "a sealed file can be opened to write again");
	ok(fstat(fd, &status) == 0 && (status.st_mode & 0777) == S_IRUSR,
	   "a sealed file that is written again stays sealed for others");
	close(fd);
	ok(plh_sealed_file_open(path, status.st_ino + 1) < 0 && errno == ESTALE,
	   "another file in the place of a sealed one is not opened");
	ok(stat(path, &status) == 0 && (status.st_mode & 0777) == S_IRUSR,
	   "a file that was not opened stays sealed");
	fd = plh_sealed_file_create(path);
	ok(fd >= 0, "a sealed file that was left over is replaced");
	close(fd);
	unlink(path);
	ok(plh_sealed_file_open(path, status.st_ino) < 0 && errno == ENOENT,
	   "a file that is gone is not made");
	remove_directory(directory);
}

void
test_profile_room(void)
{
	test_room();
	test_sealed_file();
}
