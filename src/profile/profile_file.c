/*
 * profile_file.c
 *	  The memory of this process' profile: anonymous at first, later a mapped
 *	  file that other processes can read, at the same address.
 *
 * This code runs inside palloc, so it makes system calls only.  No descriptor
 * stays open: the file is opened anew for each step by which it grows.
 */
#include "postgres.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "miscadmin.h"

#include "base/limits.h"
#include "base/private_memory.h"
#include "base/whole_io.h"
#include "profile/profile_file.h"

PlhProfileHeader *plh_profile;

static PlhRegion region;
static char published_path[PLH_PATH_MAX];	/* empty until published */
static ino_t published_inode;

/*
 * After a failed growth, refuse the next tries_to_skip requests at once, and
 * twice as many after each further failure: otherwise every new record would
 * try again.
 */
static uint32 tries_to_skip;
static uint32 tries_skipped_last;

/*
 * Reserve the address range of a profile, which it keeps for good, and back
 * the beginning with memory.  Returns false if there is no memory.
 */
bool
plh_profile_file_start(Size max_bytes)
{
	StaticAssertStmt(sizeof(PlhProfileHeader) + sizeof(PlhSiteRecord) <
					 PLH_REGION_STEP,
					 "the first step has no room for header and catch-all site");

	Assert(plh_profile == NULL);
	if (!plh_private_memory_reserve(&region, max_bytes) ||
		!plh_private_memory_commit(&region, PLH_REGION_STEP))
		return false;
	plh_profile = (PlhProfileHeader *) region.base;
	return true;
}

/* Reserve part of a file on its file system.  If true, it will not SIGBUS. */
static bool
reserve_blocks(int fd, Size offset, Size bytes)
{
	int			rc;

	do
	{
		rc = posix_fallocate(fd, offset, bytes);
	} while (rc == EINTR);
	return rc == 0;
}

/*
 * Map part of the file over the same part of the region.  The part is mapped
 * elsewhere first, as a file system that refuses must not leave a hole in the
 * profile.
 */
static bool
map_part(int fd, Size offset, Size bytes)
{
	void	   *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
							  fd, offset);

	if (mapped == MAP_FAILED)
		return false;
	if (mremap(mapped, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
			   region.base + offset) != MAP_FAILED)
		return true;
	munmap(mapped, bytes);
	return false;
}

/*
 * Open the published file.  Returns -1 on failure.  If somebody has removed
 * the file, or put another in its place, the profile is no longer published.
 */
static int
open_published(void)
{
	int			fd = open(published_path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;

	if (fd < 0)
	{
		if (errno == ENOENT || errno == ELOOP)
			published_path[0] = '\0';
		return -1;
	}
	if (fstat(fd, &status) == 0 && status.st_ino == published_inode)
		return fd;

	close(fd);
	published_path[0] = '\0';
	return -1;
}

/* Reserve and map the next part of the published file. */
static bool
grow_file(Size new_bytes)
{
	Size		old_bytes = region.committed_bytes;
	bool		grown;
	int			fd = open_published();

	Assert(old_bytes % PLH_REGION_STEP == 0 && new_bytes > old_bytes);
	if (fd < 0)
		return false;
	grown = reserve_blocks(fd, old_bytes, new_bytes - old_bytes) &&
		map_part(fd, old_bytes, new_bytes - old_bytes);
	close(fd);

	if (grown)
		plh_private_memory_extend(&region, new_bytes);
	return grown;
}

/*
 * Make the first "bytes" of the profile usable.  Returns false if that fails.
 */
bool
plh_profile_file_grow(Size bytes)
{
	Size		new_bytes = TYPEALIGN(PLH_REGION_STEP, bytes);
	bool		grown;

	Assert(CritSectionCount == 0);
	if (bytes <= region.committed_bytes)
		return true;
	if (new_bytes > region.reserved_bytes)
		return false;
	if (tries_to_skip > 0)
	{
		tries_to_skip--;
		return false;
	}

	grown = plh_profile_file_is_published() ? grow_file(new_bytes) :
		plh_private_memory_commit(&region, bytes);
	tries_skipped_last = grown ? 0 : Min(2 * tries_skipped_last + 1, 1 << 20);
	tries_to_skip = tries_skipped_last;
	return grown;
}

/*
 * Give the complete file its name.  If a file has that name already, a dead
 * process with our pid must have left it, and it is kept under another name.
 */
static bool
name_file(const char *temporary, const char *path)
{
	char		aside[PLH_PATH_MAX];

	snprintf(aside, sizeof(aside), "%s.%lld", path, (long long) time(NULL));
	if (rename(path, aside) != 0 && errno != ENOENT)
		return false;
	return rename(temporary, path) == 0;
}

/*
 * Let other processes see the profile, as file "path", from now on.  They
 * never see an incomplete file, as it has the name "temporary" until it is
 * complete.  Returns false on failure, and then everything is as it was.
 */
bool
plh_profile_file_publish(const char *path, const char *temporary)
{
	struct stat status;
	bool		published;
	int			fd;

	Assert(CritSectionCount == 0);
	if (plh_profile_file_is_published())
		return true;
	if (region.base == NULL)
		return false;

	fd = open(temporary, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			  S_IRUSR | S_IWUSR);
	if (fd < 0)
		return false;
	published = reserve_blocks(fd, 0, region.committed_bytes) &&
		plh_whole_io_write(fd, region.base, region.committed_bytes, 0) &&
		fstat(fd, &status) == 0 &&
		name_file(temporary, path);
	if (!published)
		unlink(temporary);
	else if (!map_part(fd, 0, region.committed_bytes))
	{
		unlink(path);
		published = false;
	}
	close(fd);
	if (!published)
		return false;

	strlcpy(published_path, path, sizeof(published_path));
	published_inode = status.st_ino;
	return true;
}

/*
 * Is the file still there, and still ours?  If not, the profile is no longer
 * published.
 */
bool
plh_profile_file_verify(void)
{
	struct stat status;

	if (!plh_profile_file_is_published())
		return false;
	if (lstat(published_path, &status) == 0 ?
		status.st_ino != published_inode : errno == ENOENT)
		published_path[0] = '\0';
	return plh_profile_file_is_published();
}

/*
 * Does the profile have a file?
 */
bool
plh_profile_file_is_published(void)
{
	return published_path[0] != '\0';
}

/*
 * Returns how many bytes of memory are behind the profile.
 */
Size
plh_profile_file_bytes(void)
{
	return region.committed_bytes;
}

/*
 * Remove the file, if there is one.  The memory stays.
 */
void
plh_profile_file_unlink(void)
{
	int			fd;

	if (!plh_profile_file_is_published())
		return;

	/* a file that somebody else put in its place must stay */
	fd = open_published();
	if (fd >= 0)
	{
		close(fd);
		unlink(published_path);
	}
	published_path[0] = '\0';
}

/*
 * Forget the profile and its file in a forked child: they are the parent's.
 */
void
plh_profile_file_forget(void)
{
	plh_private_memory_discard(&region);
	plh_profile = NULL;
	published_path[0] = '\0';
	tries_to_skip = 0;
	tries_skipped_last = 0;
}
