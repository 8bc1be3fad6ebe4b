/*
 * control.c
 *	  Requests of other processes to start, stop or re-tune sampling.
 *
 * The file has a slot for requests to all processes, and one for each process
 * to which a request was made.  Writers take turns by a lock on the file.  A
 * writer sets a slot's number to 0 before it changes the slot and to the
 * request's number after; then it counts the change, which makes readers look.
 * Of the two slots that concern a process, the one with the higher number
 * counts.
 *
 * A request may end after some time.  The slot then has the request before it,
 * too, which is in force again from that time on: nobody needs to be there to
 * take the ended one back.
 *
 * When pg_leakhunt.enabled is turned off, all requests made so far are dead.
 * The file has the setting as it was last noted: whoever finds it changed first
 * notes that, and the number of the last request.  The postmaster does so at
 * once if it has loaded the module, and nobody else then; without it, the first
 * session to read the configuration.  A session that reads it hours later finds
 * it noted, and newer requests stay.
 *
 * The postmaster maps the file, and all children inherit the mapping, which
 * survives a removal of the file.  A process that loads pg_leakhunt by itself
 * opens the file by its name.
 */
#include "postgres.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/parallel.h"
#include "miscadmin.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/page_layout.h"
#include "base/process_facts.h"
#include "base/sealed_file.h"
#include "base/settings.h"
#include "base/whole_io.h"
#include "profile/shared_directory.h"
#include "sampler/control.h"

/* The name contains the version of the layout. */
#define CONTROL_FILE "control.4"
#define SLOTS 2048

/*
 * Tries to get the lock, this long apart.  Writers have it for microseconds: who
 * has it for longer has been stopped, and may be so for hours.
 */
#define LOCK_TRIES 100
#define LOCK_PAUSE_US 20000

/* Tries to read a slot that a writer is changing. */
#define MAX_TRIES 100

/* A request: how to sample, the fields of PlhControlWish. */
typedef struct ControlRequest
{
	uint32		sequence;		/* number of the request; 0 = none */
	uint32		sampling;
	uint32		sample_interval;
	int32		scope;
} ControlRequest;

/* The requests to one process, or to all. */
typedef struct ControlSlot
{
	uint32		sequence;		/* of the last request; 0: none, or changing */
	int32		pid;
	uint64		process_start;	/* as plh_process_facts_start_ticks says */
	ControlRequest last;
	ControlRequest before;		/* in force again when the last one ends */
	int64		ends_at_us;		/* by the monotonic clock; 0 = never */
} ControlSlot;

typedef struct ControlFile
{
	uint32		sequence;		/* of the last request */
	uint32		dead_sequence;	/* requests up to this one don't count */
	pg_atomic_uint32 changes;	/* of requests and dead_sequence */
	pg_atomic_uint32 disabled;	/* pg_leakhunt.enabled is off, as last noted */
	uint32		used_slots;		/* slots from this index on have never been
								 * used */
	uint64		server_start;	/* of the postmaster, in clock ticks since
								 * boot */
	ControlSlot all;
	ControlSlot slots[SLOTS];
} ControlFile;

uint32		plh_control_seen;
int64		plh_control_ends_at_us;
const volatile uint32 *plh_control_changes;

static ControlFile *control;
static bool postmaster_notes;	/* it has loaded the module */
static const char *control_directory;
static PLH_LARGE char control_path[PLH_PATH_MAX];
static ino_t control_inode;		/* of the file that is mapped */
static uint64 own_start;		/* 0: not looked up yet */

/*
 * Take the lock.  Returns false, with errno set, if that fails; EWOULDBLOCK
 * stands for a holder that does not go on.
 */
static bool
take_lock(int fd)
{
	for (int tries = 0; tries < LOCK_TRIES; tries++)
	{
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return true;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return false;
		pg_usleep(LOCK_PAUSE_US);
	}
	errno = EWOULDBLOCK;
	return false;
}

/* Has the file its full size? */
static bool
has_full_size(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && status.st_size == sizeof(ControlFile);
}

/*
 * Give an empty file its full size.  Returns false, with errno set, on failure,
 * and for a file of another size: whoever maps that could die if it were cut.
 */
static bool
make_full_size(int fd)
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return false;
	if (status.st_size == sizeof(ControlFile))
		return true;
	errno = status.st_size != 0 ? EINVAL :
		posix_fallocate(fd, 0, sizeof(ControlFile));
	return errno == 0;
}

/* When the postmaster started, in the clock ticks of ControlFile. */
static uint64
server_start_ticks(void)
{
	return plh_process_facts_start_ticks(IsUnderPostmaster ? PostmasterPid :
										 getpid());
}

/*
 * Note in a new file whose it is: this server's, which removes it when it stops.
 * Without the note it stays, for the next server.
 */
static void
note_server(int fd)
{
	uint64		start = server_start_ticks();

	if (start != PLH_TICKS_UNKNOWN)
		(void) plh_whole_io_write(fd, &start, sizeof(start),
								  offsetof(ControlFile, server_start));
}

/* Open the file to write, or create it.  Returns -1, with errno set. */
static int
open_or_create(void)
{
	int			fd = open(control_path,
						  O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
						  S_IRUSR | S_IWUSR);

	return fd < 0 && errno == EEXIST ?
		plh_sealed_file_open(control_path, 0) : fd;
}

/*
 * Open the file, or make it in its full size, in a directory that may have to
 * be made again.  Only making it takes the lock: a session that starts must not
 * wait for a writer.  Returns -1, with errno set, on failure.
 */
static int
open_control(void)
{
	int			saved_errno;
	int			fd;

	/* somebody else may have made it before us */
	if (plh_shared_directory_make(control_directory) != PLH_DIRECTORY_FINE ||
		(fd = open_or_create()) < 0)
		return -1;

	if (has_full_size(fd))
		return fd;
	if (take_lock(fd) && make_full_size(fd) && plh_sealed_file_seal(fd))
	{
		note_server(fd);
		(void) flock(fd, LOCK_UN);
		return fd;
	}
	saved_errno = errno;
	close(fd);
	errno = saved_errno;
	return -1;
}

/*
 * Drop all requests, under the lock.  First the numbers go, so that nobody takes
 * what is left of a slot for a request.
 */
static void
drop_requests(void)
{
	control->all.sequence = 0;
	for (int i = 0; i < SLOTS; i++)
		control->slots[i].sequence = 0;
	pg_write_barrier();
	memset(&control->all, 0, sizeof(ControlSlot));
	memset(control->slots, 0, sizeof(control->slots));
	control->used_slots = 0;
}

/* Make all processes look at the file. */
static void
announce_change(void)
{
	pg_write_barrier();
	(void) pg_atomic_fetch_add_u32(&control->changes, 1);
}

/*
 * Note whether pg_leakhunt.enabled is on.  If it was turned off, all requests
 * made so far are dead; so they are if it is turned on again.
 *
 * The setting is that of the whole server, so that any process could note it,
 * but some are late: a session reads the configuration only between two
 * statements, and a parallel worker has its leader's setting.
 */
void
plh_control_note_enabled(bool enabled)
{
	uint32		noted = enabled;

	if (control == NULL || (postmaster_notes && IsUnderPostmaster) ||
		InitializingParallelWorker || IsParallelWorker())
		return;

	/* of several that find the change at a time, one notes it */
	if (!pg_atomic_compare_exchange_u32(&control->disabled, &noted, !enabled) ||
		enabled)
		return;
	control->dead_sequence = *(volatile uint32 *) &control->sequence;
	announce_change();
}

/* Drop the requests from before the start of this server. */
static void
forget_former_server(int fd)
{
	uint64		server_start = server_start_ticks();

	if (server_start == PLH_TICKS_UNKNOWN ||
		control->server_start == server_start || !take_lock(fd))
		return;
	if (control->server_start != server_start)
	{
		drop_requests();
		pg_atomic_write_u32(&control->disabled, 0);
		control->server_start = server_start;
	}
	(void) flock(fd, LOCK_UN);
}

/*
 * Map the control file of the profile directory; a server that starts makes a
 * new one.  Without room for the file no requests can be made, and everything
 * else works.
 */
void
plh_control_start(const char *directory, bool new_server)
{
	struct stat status;
	int			fd;

	control_directory = directory;
	snprintf(control_path, sizeof(control_path), "%s/" CONTROL_FILE, directory);
	postmaster_notes = new_server;
	if (new_server)
		(void) unlink(control_path);
	fd = open_control();
	if (fd < 0)
		return;
	control = mmap(NULL, sizeof(ControlFile), PROT_READ | PROT_WRITE,
				   MAP_SHARED, fd, 0);
	if (control == MAP_FAILED)
		control = NULL;
	else
	{
		forget_former_server(fd);
		plh_control_changes = &control->changes.value;
		control_inode = fstat(fd, &status) == 0 ? status.st_ino : 0;
		plh_control_note_enabled(plh_enabled);
	}
	close(fd);
}

/* Read a whole slot.  Returns false if it has no request. */
static PLH_EVERY_PROCESS bool
read_slot(const ControlSlot *slot, ControlSlot *copy)
{
	for (int tries = 0; tries < MAX_TRIES; tries++)
	{
		uint32		before = *(const volatile uint32 *) &slot->sequence;

		if (before == 0)
			return false;
		pg_read_barrier();
		*copy = *slot;
		pg_read_barrier();
		if (*(const volatile uint32 *) &slot->sequence == before)
			return true;
	}
	return false;
}

/*
 * Returns how many slots have ever been used: not more than there are, whatever
 * somebody has written to the file.
 */
static uint32
count_used_slots(void)
{
	uint32		used_slots = *(const volatile uint32 *) &control->used_slots;

	return Min(used_slots, SLOTS);
}

/*
 * Read the slot with the requests to a process into "copy"; zeros if there are none.
 * process_start is looked up once there is a slot with that pid.
 */
static PLH_EVERY_PROCESS void
read_slot_of(int pid, uint64 *process_start, ControlSlot *copy)
{
	uint32		used_slots = count_used_slots();

	for (uint32 i = 0; i < used_slots; i++)
	{
		const ControlSlot *slot = &control->slots[i];

		if (slot->pid != pid || slot->sequence == 0)
			continue;
		if (*process_start == 0 || *process_start == PLH_TICKS_UNKNOWN)
			*process_start = plh_process_facts_start_ticks(pid);
		if (slot->process_start == *process_start && read_slot(slot, copy))
			return;
	}
	memset(copy, 0, sizeof(*copy));
}

/* The request of a slot that is in force at a time; NULL if none is. */
static const ControlRequest *
request_in_force(const ControlSlot *slot, int64 now_us)
{
	const ControlRequest *request =
		slot->ends_at_us != 0 && now_us >= slot->ends_at_us ?
		&slot->before : &slot->last;

	return request->sequence > control->dead_sequence ? request : NULL;
}

/* Note when this process must look again, as one of its requests ends. */
static void
note_end(const ControlSlot *slot, int64 now_us)
{
	if (slot->ends_at_us > now_us &&
		(plh_control_ends_at_us == 0 ||
		 slot->ends_at_us < plh_control_ends_at_us))
		plh_control_ends_at_us = slot->ends_at_us;
}

/*
 * Read the requests to a process, and those to all, into a wish that is all zeros.  Of
 * two that are in force, the later one counts.
 */
static PLH_EVERY_PROCESS void
read_wish(PlhControlWish *wish, int pid, uint64 *process_start, int64 now_us,
		  ControlSlot *own, ControlSlot *all)
{
	const ControlRequest *request;
	const ControlRequest *request_to_all;

	if (!read_slot(&control->all, all))
		memset(all, 0, sizeof(*all));
	read_slot_of(pid, process_start, own);
	request = request_in_force(own, now_us);
	request_to_all = request_in_force(all, now_us);
	if (request == NULL || (request_to_all != NULL &&
							request_to_all->sequence > request->sequence))
		request = request_to_all;
	if (request == NULL)
		return;
	wish->present = true;
	wish->sampling = request->sampling != 0;
	wish->sample_interval = request->sample_interval;
	wish->scope = request->scope;
}

/*
 * Does the work of plh_control_changed where a request ends at some time.
 */
bool
plh_control_request_ended(void)
{
	return plh_clock_us(CLOCK_MONOTONIC_COARSE) >= plh_control_ends_at_us;
}

/*
 * Find the request that concerns this process, if there is one.
 */
PLH_EVERY_PROCESS void
plh_control_poll(PlhControlWish *wish)
{
	ControlSlot all;
	ControlSlot own;
	int64		now_us = plh_clock_us(CLOCK_MONOTONIC_COARSE);

	memset(wish, 0, sizeof(*wish));
	if (control == NULL)
		return;
	plh_control_seen = *plh_control_changes;
	pg_read_barrier();
	read_wish(wish, getpid(), &own_start, now_us, &own, &all);
	plh_control_ends_at_us = 0;
	note_end(&own, now_us);
	note_end(&all, now_us);
}

/*
 * Find the request that concerns a process, whether it has seen it or not.
 */
void
plh_control_wish_of(int pid, PlhControlWish *wish)
{
	ControlSlot all;
	ControlSlot own;
	uint64		process_start = 0;

	memset(wish, 0, sizeof(*wish));
	if (control == NULL)
		return;
	pg_read_barrier();
	read_wish(wish, pid, &process_start, plh_clock_us(CLOCK_MONOTONIC_COARSE),
			  &own, &all);
}

/* Returns the slot for requests to a process, or NULL if all are in use. */
static ControlSlot *
slot_for(int pid, uint64 process_start)
{
	ControlSlot *unused = NULL;
	uint32		used_slots = count_used_slots();

	for (uint32 i = 0; i < used_slots; i++)
	{
		ControlSlot *slot = &control->slots[i];

		if (slot->pid == pid && slot->process_start == process_start)
			return slot;
		if (unused == NULL && kill(slot->pid, 0) != 0 && errno == ESRCH)
			unused = slot;
	}
	if (unused == NULL && used_slots < SLOTS)
	{
		unused = &control->slots[used_slots];
		control->used_slots = used_slots + 1;
	}
	return unused;
}

/*
 * Fill in a slot for a new request.  While one is in force that ends, a further
 * one that ends goes back to the same as the first.
 */
static void
fill_slot(ControlSlot *slot, uint32 sequence, const PlhControlWish *wish)
{
	int64		now_us = plh_clock_us(CLOCK_MONOTONIC);

	if (slot->ends_at_us == 0)
		slot->before = slot->last;
	if (wish->duration_us == 0)
		memset(&slot->before, 0, sizeof(slot->before));
	slot->ends_at_us = wish->duration_us == 0 ? 0 : now_us + wish->duration_us;
	slot->last.sequence = sequence;
	slot->last.sampling = wish->sampling;
	slot->last.sample_interval = wish->sample_interval;
	slot->last.scope = wish->scope;
}

/* Store a request, under the lock. */
static bool
store_request(int pid, const PlhControlWish *wish)
{
	uint64		process_start = pid == 0 ? 0 : plh_process_facts_start_ticks(pid);
	ControlSlot *slot = pid == 0 ? &control->all :
		slot_for(pid, process_start);
	uint32		sequence = control->sequence + 1;

	if (slot == NULL || process_start == PLH_TICKS_UNKNOWN)
		return false;
	slot->sequence = 0;
	pg_write_barrier();
	if (slot->pid != pid || slot->process_start != process_start)
		memset(slot, 0, sizeof(*slot));
	slot->pid = pid;
	slot->process_start = process_start;
	fill_slot(slot, sequence, wish);
	pg_write_barrier();
	slot->sequence = sequence;
	control->sequence = sequence;
	announce_change();
	return true;
}

/* Forget all requests, under the lock, and make all processes look. */
static bool
store_nothing(int pid, const PlhControlWish *wish)
{
	drop_requests();
	announce_change();
	return true;
}

/*
 * Let "store" change the file while nobody else does.  Returns false, with errno
 * set, on failure.
 */
static bool
change_file(bool (*store) (int pid, const PlhControlWish *wish), int pid,
			const PlhControlWish *wish)
{
	bool		stored = false;
	int			fd;

	if (control == NULL)
	{
		errno = ENOENT;
		return false;
	}

	/* the lock is only for taking turns: any file of that name will do */
	fd = open_control();
	if (fd < 0)
		return false;
	if (take_lock(fd))
	{
		stored = store(pid, wish);
		if (!stored)
			errno = ENOSPC;
	}
	close(fd);
	return stored;
}

/*
 * Make a request to a process, or to all with pid 0.  Returns false, with errno
 * set, on failure; ENOSPC stands for requests to too many processes, EWOULDBLOCK
 * for another process that makes one and does not get done.
 */
bool
plh_control_request(int pid, const PlhControlWish *wish)
{
	return change_file(store_request, pid, wish);
}

/*
 * Take all requests back.  Returns false, with errno set, on failure.
 */
bool
plh_control_reset(void)
{
	return change_file(store_nothing, 0, NULL);
}

/*
 * Forget in a forked child which requests the parent has seen.
 */
PLH_EVERY_PROCESS void
plh_control_forget(void)
{
	own_start = 0;
	plh_control_seen = 0;
	plh_control_ends_at_us = 0;
}

/*
 * Is the file of that name this server's, which processes have made again after
 * somebody had removed it?
 */
static bool
was_made_again(void)
{
	uint64		server_start;
	int			fd = open(control_path,
						  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool		ours = fd >= 0 &&
		plh_whole_io_read(fd, &server_start, sizeof(server_start),
						  offsetof(ControlFile, server_start)) ==
		sizeof(server_start) &&
		server_start != 0 && server_start == control->server_start;

	if (fd >= 0)
		close(fd);
	return ours;
}

/*
 * Remove the file when the server stops.  Returns false, and removes nothing,
 * if the next server has put its own in its place.
 */
bool
plh_control_unlink(void)
{
	struct stat status;

	return control != NULL && lstat(control_path, &status) == 0 &&
		(status.st_ino == control_inode || was_made_again()) &&
		unlink(control_path) == 0;
}
