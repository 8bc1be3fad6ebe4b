/*
 * control.c
 *	  Requests of other processes to start, stop or re-tune sampling.
 *
 * The file has a slot for requests to all processes, and one for each process to which a request
 * was made.  Writers take turns by a lock on the file.  A writer sets a slot's number to 0 before
 * it changes the slot and to the request's number after; then it counts the change, which makes
 * readers look.  Of the two slots that concern a process, the one with the higher number counts.
 *
 * A request may end after some time.  The slot then has the request before it, too, which is in
 * force again from that time on: nobody needs to be there to take the ended one back.
 *
 * When pg_leakhunt.enabled is turned off, all requests made so far are dead.  The file has the
 * setting as it was last noted: the process that finds it changed first notes that, and the number
 * of the last request.  The postmaster does so at once if it has loaded the module, and nobody else
 * then; without it, the first session to read the configuration.  A session that reads it hours
 * later finds it noted, and newer requests stay.
 *
 * control_file.c makes the file, maps it and removes it.
 */
#include "postgres.h"

#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include "access/parallel.h"
#include "miscadmin.h"

#include "base/clock.h"
#include "base/fork.h"
#include "base/page_layout.h"
#include "base/process_facts.h"
#include "base/settings.h"
#include "sampler/control.h"
#include "sampler/control_file.h"

/* Tries to read a slot that a writer is changing. */
#define MAX_TRIES 100

PlhControlSeen plh_control_seen;
PLH_SET_AT_LOAD const volatile uint32 *plh_control_changes;

static PLH_SET_AT_LOAD bool postmaster_notes;	/* it has loaded the module */

/* Under the lock.  The numbers go first, so that nobody takes the rest of a slot for a request. */
static void
drop_requests(void)
{
	plh_control_file->all.sequence = 0;
	for (int i = 0; i < PLH_CONTROL_SLOTS; i++)
		plh_control_file->slots[i].sequence = 0;
	pg_write_barrier();
	memset(&plh_control_file->all, 0, sizeof(PlhControlSlot));
	memset(plh_control_file->slots, 0, sizeof(plh_control_file->slots));
	plh_control_file->used_slots = 0;
}

/* Make all processes look at the file. */
static void
announce_change(void)
{
	pg_write_barrier();
	(void) pg_atomic_fetch_add_u32(&plh_control_file->changes, 1);
}

/*
 * If pg_leakhunt.enabled was turned off, all requests made so far are dead, also when it is turned
 * on again.  The setting is that of the whole server, so that any process could note it, but some
 * are late: a session reads the configuration only between two statements, and a parallel worker
 * has its leader's setting.
 */
void
plh_control_note_enabled(bool enabled)
{
	uint32		noted = enabled;

	if (plh_control_file == NULL || (postmaster_notes && IsUnderPostmaster) ||
		InitializingParallelWorker || IsParallelWorker())
		return;

	/* of several that find the change at a time, one notes it */
	if (!pg_atomic_compare_exchange_u32(&plh_control_file->disabled, &noted, !enabled) || enabled)
		return;
	plh_control_file->dead_sequence = *(volatile uint32 *) &plh_control_file->sequence;
	announce_change();
}

static void
forget_former_server(int fd)
{
	uint64		server_start = plh_control_file_server_start();

	if (server_start == PLH_TICKS_UNKNOWN ||
		plh_control_file->server_start == server_start || !plh_control_file_lock(fd))
		return;
	if (plh_control_file->server_start != server_start)
	{
		drop_requests();
		pg_atomic_write_u32(&plh_control_file->disabled, 0);
		plh_control_file->server_start = server_start;
	}
	(void) flock(fd, LOCK_UN);
}

/* Without room for the file no requests can be made, and everything else works. */
void
plh_control_start(const char *directory, uint64 cluster, bool new_server)
{
	int			fd = plh_control_file_map(directory, cluster, new_server);

	postmaster_notes = new_server;
	if (fd < 0)
		return;
	forget_former_server(fd);
	plh_control_changes = &plh_control_file->changes.value;
	plh_control_note_enabled(plh_enabled);
	close(fd);
}

/* Read a whole slot.  Returns false, and zeros, if it has no request. */
static PLH_EVERY_PROCESS bool
read_slot(const PlhControlSlot *slot, PlhControlSlot *copy)
{
	for (int tries = 0; tries < MAX_TRIES; tries++)
	{
		uint32		before = *(const volatile uint32 *) &slot->sequence;

		if (before == 0)
			break;
		pg_read_barrier();
		*copy = *slot;
		pg_read_barrier();
		if (*(const volatile uint32 *) &slot->sequence == before)
			return true;
	}
	memset(copy, 0, sizeof(*copy));
	return false;
}

/* How many slots have ever been used: not more than there are, whatever the file says. */
static uint32
count_used_slots(void)
{
	uint32		used_slots = *(const volatile uint32 *) &plh_control_file->used_slots;

	return Min(used_slots, PLH_CONTROL_SLOTS);
}

/* Zeros if there are none.  process_start is looked up once there is a slot with that pid. */
static PLH_EVERY_PROCESS void
read_slot_of(int pid, uint64 *process_start, PlhControlSlot *copy)
{
	uint32		used_slots = count_used_slots();

	for (uint32 i = 0; i < used_slots; i++)
	{
		const PlhControlSlot *slot = &plh_control_file->slots[i];

		if (slot->pid != pid || slot->sequence == 0)
			continue;
		if (*process_start == 0 || *process_start == PLH_TICKS_UNKNOWN)
			*process_start = plh_process_facts_start_ticks(pid);
		if (slot->process_start == *process_start && read_slot(slot, copy))
			return;
	}
	memset(copy, 0, sizeof(*copy));
}

/* The entry of a slot that is in force at a time; NULL if none is. */
static const PlhControlEntry *
entry_in_force(const PlhControlSlot *slot, int64 now_us)
{
	const PlhControlEntry *entry =
		slot->ends_at_us != 0 && now_us >= slot->ends_at_us ? &slot->before : &slot->last;

	return entry->sequence > plh_control_file->dead_sequence ? entry : NULL;
}

/* When the next of the requests in two slots ends; 0: none does. */
static int64
next_end(const PlhControlSlot *own, const PlhControlSlot *all, int64 now_us)
{
	int64		own_ends = own->ends_at_us > now_us ? own->ends_at_us : 0;
	int64		all_ends = all->ends_at_us > now_us ? all->ends_at_us : 0;

	return own_ends == 0 || all_ends == 0 ? Max(own_ends, all_ends) : Min(own_ends, all_ends);
}

/* Of two requests in force, the later one counts.  Returns when the next of both ends, or 0. */
static PLH_EVERY_PROCESS int64
read_request(PlhControlRequest *request, int pid, uint64 *process_start)
{
	int64		now_us = plh_clock_us(CLOCK_MONOTONIC_COARSE);
	const PlhControlEntry *entry;
	const PlhControlEntry *entry_for_all;
	PlhControlSlot all;
	PlhControlSlot own;

	memset(request, 0, sizeof(*request));
	if (plh_control_file == NULL)
		return 0;
	pg_read_barrier();
	(void) read_slot(&plh_control_file->all, &all);
	read_slot_of(pid, process_start, &own);
	entry = entry_in_force(&own, now_us);
	entry_for_all = entry_in_force(&all, now_us);
	if (entry == NULL || (entry_for_all != NULL && entry_for_all->sequence > entry->sequence))
		entry = entry_for_all;
	if (entry != NULL)
	{
		request->present = true;
		request->sampling = entry->sampling != 0;
		request->sample_interval = entry->sample_interval;
		request->scope = entry->scope;
	}
	return next_end(&own, &all, now_us);
}

bool
plh_control_request_ended(void)
{
	return plh_clock_us(CLOCK_MONOTONIC_COARSE) >= plh_control_seen.ends_at_us;
}

/* Find the request that concerns this process, if there is one. */
PLH_EVERY_PROCESS void
plh_control_poll(PlhControlRequest *request)
{
	if (plh_control_changes != NULL)
		plh_control_seen.changes = *plh_control_changes;
	plh_control_seen.ends_at_us = read_request(request, getpid(), &plh_control_seen.own_start);
}

/* Find the request that concerns a process, whether it has seen it or not. */
void
plh_control_request_of(int pid, PlhControlRequest *request)
{
	uint64		process_start = 0;

	(void) read_request(request, pid, &process_start);
}

/* Returns the slot for requests to a process, or NULL if all are in use. */
static PlhControlSlot *
slot_for(int pid, uint64 process_start)
{
	PlhControlSlot *unused = NULL;
	uint32		used_slots = count_used_slots();

	for (uint32 i = 0; i < used_slots; i++)
	{
		PlhControlSlot *slot = &plh_control_file->slots[i];

		if (slot->pid == pid && slot->process_start == process_start)
			return slot;
		if (unused == NULL && kill(slot->pid, 0) != 0 && errno == ESRCH)
			unused = slot;
	}
	if (unused == NULL && used_slots < PLH_CONTROL_SLOTS)
	{
		unused = &plh_control_file->slots[used_slots];
		plh_control_file->used_slots = used_slots + 1;
	}
	return unused;
}

/* While a request is in force that ends, a further one that ends goes back to the same. */
static void
fill_slot(PlhControlSlot *slot, uint32 sequence, const PlhControlRequest *request)
{
	int64		now_us = plh_clock_us(CLOCK_MONOTONIC);

	if (slot->ends_at_us == 0)
		slot->before = slot->last;
	if (request->duration_us == 0)
		memset(&slot->before, 0, sizeof(slot->before));
	slot->ends_at_us = request->duration_us == 0 ? 0 : now_us + request->duration_us;
	slot->last.sequence = sequence;
	slot->last.sampling = request->sampling;
	slot->last.sample_interval = request->sample_interval;
	slot->last.scope = request->scope;
}

/* Under the lock; NULL drops all requests. */
static bool
store_request(int pid, const PlhControlRequest *request)
{
	uint64		process_start = pid == 0 ? 0 : plh_process_facts_start_ticks(pid);
	PlhControlSlot *slot = pid == 0 ? &plh_control_file->all : slot_for(pid, process_start);
	uint32		sequence = plh_control_file->sequence + 1;

	if (request == NULL)
	{
		drop_requests();
		announce_change();
		return true;
	}
	if (slot == NULL || process_start == PLH_TICKS_UNKNOWN)
		return false;
	slot->sequence = 0;
	pg_write_barrier();
	if (slot->pid != pid || slot->process_start != process_start)
		memset(slot, 0, sizeof(*slot));
	slot->pid = pid;
	slot->process_start = process_start;
	fill_slot(slot, sequence, request);
	pg_write_barrier();
	slot->sequence = sequence;
	plh_control_file->sequence = sequence;
	announce_change();
	return true;
}

/*
 * Make a request to a process, or to all with pid 0; NULL takes all back.  Returns false, with
 * errno set, on failure; ENOSPC stands for requests to too many processes, EWOULDBLOCK for another
 * process that makes one and does not get done.
 */
bool
plh_control_request(int pid, const PlhControlRequest *request)
{
	bool		stored = false;
	int			fd;

	if (plh_control_file == NULL)
	{
		errno = ENOENT;
		return false;
	}

	/* the lock is only for taking turns: any file of that name will do */
	fd = plh_control_file_open();
	if (fd < 0)
		return false;
	if (plh_control_file_lock(fd))
	{
		stored = store_request(pid, request);
		if (!stored)
			errno = ENOSPC;
	}
	close(fd);
	return stored;
}

PLH_EVERY_PROCESS void
plh_control_forget(void)
{
	memset(&plh_control_seen, 0, sizeof(plh_control_seen));
}
