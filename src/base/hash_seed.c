/*
 * hash_seed.c
 *	  Random numbers that hashes begin with, where others choose what is hashed.
 */
#include "postgres.h"

#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/hash_seed.h"

/*
 * Returns a number that nobody can guess, another one each time.  Where the kernel has none to
 * give, time and the places of the stack and of the code must do.
 */
uint64
plh_hash_seed_draw(void)
{
	int			saved_errno = errno;
	uint64		seed = 0;

	if (syscall(SYS_getrandom, &seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
	{
		struct timespec now;

		clock_gettime(CLOCK_MONOTONIC, &now);
		seed = ((uint64) now.tv_nsec << 32) ^ now.tv_sec ^ (uintptr_t) &now ^
			((uint64) (uintptr_t) plh_hash_seed_draw << 16);
	}
	errno = saved_errno;
	return seed;
}
