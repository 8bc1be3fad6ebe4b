/*
 * cut_stacks.c
 *	  Takes the frames off all stacks of a profile, as if unwinding had failed.
 *
 * Usage: cut_stacks PROFILE.  Prints how many stacks had frames.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profile/profile_layout.h"

static int
cut_stacks(PlhProfileHeader *header)
{
	uint32		offset = MAXALIGN(sizeof(PlhProfileHeader));
	int			count = 0;

	while (offset < header->used_bytes)
	{
		PlhRecord  *record = (PlhRecord *) ((char *) header + offset);

		if (record->kind == PLH_RECORD_STACK &&
			((PlhStackRecord *) record)->depth > 0)
		{
			((PlhStackRecord *) record)->depth = 0;
			count++;
		}
		offset += record->bytes;
	}
	return count;
}

int
main(int argc, char **argv)
{
	int			fd = argc == 2 ? open(argv[1], O_RDWR) : -1;
	off_t		bytes = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	void	   *profile = bytes <= 0 ? MAP_FAILED :
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (profile == MAP_FAILED)
		return 1;
	printf("%d\n", cut_stacks(profile));
	return 0;
}
