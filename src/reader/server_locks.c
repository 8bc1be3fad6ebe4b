/*
 * server_locks.c
 *	  The locks that a process holds, as pg_locks shows them.
 */
#include "postgres.h"

#include "storage/lock.h"

#include "reader/server_locks.h"

static void
add(PlhServerLocks *locks, const LockInstanceData *lock)
{
	locks->count++;
	if (lock->locktag.locktag_type == LOCKTAG_RELATION)
		locks->relations++;
	else if (lock->locktag.locktag_type == LOCKTAG_ADVISORY)
		locks->advisory++;
}

/* A lock that is only waited for is held by somebody else. */
PlhServerLocks
plh_server_locks_of(int pid)
{
	LockData   *data = GetLockStatusData();
	PlhServerLocks locks = {0};

	for (int i = 0; i < data->nelements; i++)
		if (data->locks[i].pid == pid && data->locks[i].holdMask != 0)
			add(&locks, &data->locks[i]);
	pfree(data->locks);
	pfree(data);
	return locks;
}
