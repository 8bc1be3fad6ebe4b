/*
 * profile_file.c
 *	  The memory of this process' profile: anonymous at first, later a file, at the same address.
 *
 * This code runs inside palloc, so it makes system calls only.  No descriptor stays open: the file
 * is opened anew for each step by which it grows.
 *
 * The file has the first published_bytes of the profile.  Where the file system has no room for
 * more, the rest is anonymous memory, which only the owner sees.  Both parts are one mapping each,
 * however often they grow.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "miscadmin.h"

#include "base/fork.h"
#include "base/page_layout.h"
#include "base/private_memory.h"
#include "base/sealed_file.h"
#include "base/whole_io.h"
#include "profile/profile_file.h"
#include "profile/shared_directory.h"

/* A file grows by this part of itself, so that it grows a few times only. */
#define GROWTH_PART 4

/*
 * A forked child lets go of its parent's profile at once (profile.c), and of the memory when it
 * begins its own: plh_profile_file_forget gives that back.
 */
PLH_SURVIVES_FORK PlhProfileHeader *plh_profile;
static PLH_SURVIVES_FORK PlhRegion region;

static PLH_LARGE struct
{
	const char *published_directory;
	char		published_path[PLH_PATH_MAX];	/* empty until published */
	ino_t		published_inode;

	/*
	 * After a failed growth, refuse the next tries_to_skip requests at once,
	 * and twice as many after each further failure: otherwise every new
	 * record would try again.
	 */
	uint32		tries_to_skip;
	uint32		tries_skipped_last;
}			state;

/*
 * Reserve the address range of a profile, which it keeps for good, and back the beginning with
 * memory.  Returns false if there is no memory.
 */
bool
plh_profile_file_start(Size max_bytes)
{
	StaticAssertStmt(sizeof(PlhProfileHeader) + sizeof(PlhSiteRecord) < PLH_REGION_STEP,
					 "the first step has no room for header and catch-all site");

	Assert(plh_profile == NULL);
	if (!plh_private_memory_reserve(&region, max_bytes) ||
		!plh_private_memory_commit(&region, PLH_REGION_STEP))
		return false;
	plh_profile = (PlhProfileHeader *) region.base;
	return true;
}

/*
 * Map the first bytes of the file over those of the region, in place of what is mapped there.  They
 * are mapped elsewhere first, as a file system that refuses must not leave a hole in the profile.
 */
static bool
map_file(int fd, Size bytes)
{
	void	   *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (mapped == MAP_FAILED)
		return false;
	if (mremap(mapped, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, region.base) != MAP_FAILED)
		return true;
	munmap(mapped, bytes);
	return false;
}

/*
 * Open the published file to write.  Returns -1 on failure.  If somebody has removed the file, or
 * put another in its place, the profile is no longer published.
 */
static int
open_published(void)
{
	int			fd = plh_sealed_file_open(state.published_path, state.published_inode);

	if (fd < 0 && (errno == ENOENT || errno == ELOOP || errno == ESTALE))
		state.published_path[0] = '\0';
	return fd;
}

/*
 * Let the published file have the first "bytes" of the profile.  What is anonymous memory of these
 * is written into the file; what is beyond committed_bytes becomes usable.
 */
static bool
extend_file(Size bytes)
{
	Size		start = plh_profile->published_bytes;
	Size		used_end = Min(bytes, region.committed_bytes);
	bool		extended;
	int			fd;

	Assert(start < bytes && used_end >= start);
	if (plh_shared_directory_check(state.published_directory) != PLH_DIRECTORY_FINE ||
		!plh_shared_directory_has_room(state.published_directory, bytes - start,
									   PLH_ROOM_RECORDS) ||
		(fd = open_published()) < 0)
		return false;
	extended = plh_sealed_file_reserve(fd, start, bytes - start) &&
		plh_whole_io_write(fd, region.base + start, used_end - start, start) && map_file(fd, bytes);
	close(fd);

	if (extended)
		plh_profile->published_bytes = bytes;
	return extended;
}

/* Grow a profile that the published file has as a whole. */
static bool
grow_file(Size bytes)
{
	Size		wanted = region.committed_bytes + region.committed_bytes / GROWTH_PART;
	Size		new_bytes = Min(TYPEALIGN(PLH_REGION_STEP, Max(wanted, bytes)),
								region.reserved_bytes);

	if (!extend_file(new_bytes))
		return false;
	plh_private_memory_extend(&region, new_bytes);
	return true;
}

/* Make the first "bytes" of the profile usable.  Returns false if that fails. */
bool
plh_profile_file_grow(Size bytes)
{
	bool		grown;

	Assert(CritSectionCount == 0);
	if (bytes <= region.committed_bytes)
		return true;
	if (bytes > region.reserved_bytes)
		return false;
	if (state.tries_to_skip > 0)
	{
		state.tries_to_skip--;
		return false;
	}

	grown = (plh_profile_file_is_whole() && grow_file(bytes)) ||
		plh_private_memory_commit(&region, bytes);
	state.tries_skipped_last = grown ? 0 : Min(2 * state.tries_skipped_last + 1, 1 << 20);
	state.tries_to_skip = state.tries_skipped_last;
	return grown;
}

/* Is a file a profile of this process, which lost sight of it? */
static bool
is_our_own(const char *path)
{
	PlhProfileHeader former;
	bool		own;
	int			fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return false;
	own = plh_whole_io_read(fd, &former, sizeof(former), 0) == sizeof(former) &&
		memcmp(former.magic, PLH_PROFILE_MAGIC, sizeof(former.magic)) == 0 &&
		former.pid == plh_profile->pid && former.process_start == plh_profile->process_start;
	close(fd);
	return own;
}

/*
 * Give the complete file its name.  If a file has that name already, a dead process with our pid
 * has left it, and it is kept under another name; or we have, when a system call failed, and it is
 * replaced.
 */
static bool
name_file(const char *temporary, const char *path)
{
	char		aside[PLH_PATH_MAX];

	snprintf(aside, sizeof(aside), "%s.%lld", path, (long long) time(NULL));
	if (!is_our_own(path) && rename(path, aside) != 0 && errno != ENOENT)
		return false;
	return rename(temporary, path) == 0;
}

/*
 * Write the first "bytes" of the profile into a file, and map it.  Other processes never see an
 * incomplete file: it has the name "temporary" until it is complete.  Returns false, with errno
 * set, on failure, and then everything is as it was.
 */
static bool
make_file(const char *path, const char *temporary, Size bytes)
{
	struct stat status;
	bool		made;
	int			saved_errno;
	int			fd = plh_sealed_file_create(temporary);

	if (fd < 0)
		return false;
	plh_profile->published_bytes = bytes;
	made = plh_sealed_file_reserve(fd, 0, bytes) &&
		plh_whole_io_write(fd, region.base, bytes, 0) &&
		fstat(fd, &status) == 0 && plh_sealed_file_seal(fd) && name_file(temporary, path);
	saved_errno = made ? 0 : errno;
	if (!made)
		unlink(temporary);
	else if (!map_file(fd, bytes))
	{
		saved_errno = errno;
		unlink(path);
		made = false;
	}
	close(fd);
	if (made)
	{
		strlcpy(state.published_path, path, sizeof(state.published_path));
		state.published_inode = status.st_ino;
	}
	else
		plh_profile->published_bytes = 0;
	errno = saved_errno;
	return made;
}

/* Returns how many bytes at least a file has: those of the header. */
static Size
header_bytes(void)
{
	return TYPEALIGN(getpagesize(), PLH_PROFILE_FIRST_BYTES);
}

/*
 * Let other processes see the profile from now on, as a file of the directory, whose path must stay
 * valid.  Without room for all of it they see only the header, or what they saw before.  Returns
 * whether they see all; if not, errno is set.
 */
bool
plh_profile_file_publish(const char *directory)
{
	char		path[PLH_PATH_MAX];
	char		temporary[PLH_PATH_MAX];
	int			saved_errno;

	Assert(CritSectionCount == 0);
	if (plh_profile == NULL)
		return false;
	if (plh_profile_file_is_published())
		return plh_profile_file_is_whole() || extend_file(region.committed_bytes);

	state.published_directory = directory;
	snprintf(path, sizeof(path), "%s/%d", directory, (int) getpid());
	snprintf(temporary, sizeof(temporary), "%s/tmp.%d", directory, (int) getpid());
	if (plh_shared_directory_has_room(directory, region.committed_bytes, PLH_ROOM_RECORDS) &&
		make_file(path, temporary, region.committed_bytes))
		return true;
	saved_errno = errno;
	if (saved_errno != ENOENT &&
		plh_shared_directory_has_room(directory, header_bytes(), PLH_ROOM_HEADER))
		(void) make_file(path, temporary, header_bytes());
	errno = saved_errno;
	return false;
}

/* Is the file still there, and still ours?  If not, the profile is no longer published. */
bool
plh_profile_file_verify(void)
{
	struct stat status;

	if (!plh_profile_file_is_published())
		return false;
	if (lstat(state.published_path, &status) == 0 ?
		status.st_ino != state.published_inode : errno == ENOENT)
		state.published_path[0] = '\0';
	return plh_profile_file_is_published();
}

PLH_EVERY_PROCESS bool
plh_profile_file_is_published(void)
{
	return plh_profile != NULL && state.published_path[0] != '\0';
}

PLH_EVERY_PROCESS bool
plh_profile_file_is_whole(void)
{
	return plh_profile_file_is_published() &&
		plh_profile->published_bytes == region.committed_bytes;
}

Size
plh_profile_file_bytes(void)
{
	return region.committed_bytes;
}

/* Remove the file, if there is one.  The memory stays. */
void
plh_profile_file_unlink(void)
{
	/* a file that somebody else put in its place must stay */
	if (plh_profile_file_verify())
		unlink(state.published_path);
	state.published_path[0] = '\0';
}

/* Give up the memory of a profile that was the parent's, and forget its file. */
void
plh_profile_file_forget(void)
{
	Assert(plh_profile == NULL);
	plh_private_memory_discard(&region);
	memset(&state, 0, sizeof(state));
}
