/*
 * fuzz_control.c
 *	  The control file with anything in it, which others change while it is read.
 *
 * An input says how large the file is, what its first bytes and some of its slots
 * are, which processes there are, and what others write wherever a reader or a
 * writer has a barrier.
 */
#include "postgres.h"

#include <signal.h>
#include <unistd.h>

#include "port/atomics.h"

#include "base/clock.h"
#include "base/process_facts.h"
#include "base/whole_io.h"

static int	process_is_there(int pid, int signal);
static uint64 start_ticks(int pid);
static int	this_process(void);
static int64 this_time(clockid_t clock);
static void write_meanwhile(void);

#undef pg_read_barrier
#undef pg_write_barrier
#define pg_read_barrier() write_meanwhile()
#define pg_write_barrier() write_meanwhile()
#define plh_clock_us this_time
#define kill process_is_there
#define plh_process_facts_start_ticks start_ticks
#define getpid this_process
#include "sampler/control_file.c"
#include "sampler/control.c"
#undef getpid
#undef plh_process_facts_start_ticks
#undef kill
#undef plh_clock_us

#include "fuzz.h"

/* the setting, which decides what is done with older requests */
bool		plh_enabled = true;

#define OWN_PID 5
#define STARTED 77

/* What has not been used of the input. */
static const uint8 *rest;
static size_t rest_bytes;

/* Take a number of bytes of the input; what is missing is 0. */
static void
take(void *target, size_t bytes)
{
	size_t		taken = Min(bytes, rest_bytes);

	memset(target, 0, bytes);
	memcpy(target, rest, taken);
	rest += taken;
	rest_bytes -= taken;
}

static uint8
take_byte(void)
{
	uint8		byte;

	take(&byte, sizeof(byte));
	return byte;
}

static int
process_is_there(int pid, int signal)
{
	errno = ESRCH;
	return pid % 2 == 0 ? 0 : -1;
}

static uint64
start_ticks(int pid)
{
	return STARTED;
}

static int
this_process(void)
{
	return OWN_PID;
}

static int64
this_time(clockid_t clock)
{
	static int64 now_us = 1000;

	return now_us += 100;
}

/* Others write a part of a slot, or of what precedes the slots. */
static void
write_meanwhile(void)
{
	PlhControlSlot *slots[] = {
		&plh_control_file->all, &plh_control_file->slots[0], &plh_control_file->slots[PLH_CONTROL_SLOTS - 1],
		(PlhControlSlot *) plh_control_file
	};
	uint8		place = take_byte();
	uint8		bytes = take_byte() % sizeof(PlhControlSlot);

	if (rest_bytes > 0)
		take((char *) slots[place % lengthof(slots)] + place / 4 % 8 * 4,
			 Min(bytes, sizeof(PlhControlSlot) - 28));
}

/* A request of this process, or of another session for one. */
static void
make_request(void)
{
	PlhControlRequest request = {.present = true};
	int16		pid;

	take(&pid, sizeof(pid));
	take(&request.sample_interval, sizeof(request.sample_interval));
	take(&request.duration_us, sizeof(request.duration_us));
	request.scope = -1;
	(void) plh_control_request(pid, &request);
}

/* What processes do, as the input says. */
static void
use_file(void *arg)
{
	PlhControlRequest request;

	for (int steps = 0; steps < 32 && rest_bytes > 0; steps++)
	{
		switch (take_byte() % 5)
		{
			case 0:
				make_request();
				break;
			case 1:
				(void) plh_control_request(0, NULL);
				break;
			case 2:
				plh_control_forget();
				break;
			default:
				(void) plh_control_changed();
				plh_control_poll(&request);
		}
	}
}

/* Slots of the file that the input says something about: the first, and the last. */
#define FIRST_SLOTS 8

/* The size of the file: mostly the right one, or some bytes less, or a few. */
static Size
any_size(uint8 choice)
{
	if (choice < 16)
		return choice;
	return sizeof(PlhControlFile) - (choice < 32 ? choice - 15 : 0);
}

/* Make the file; what the input does not say is 0. */
static void
write_control_file(void)
{
	static char start[offsetof(PlhControlFile, slots) +
					  sizeof(PlhControlSlot) * FIRST_SLOTS];
	Size		bytes = any_size(take_byte());
	PlhControlSlot last;
	int			fd;

	memset(start, 0, sizeof(start));
	take(start, offsetof(PlhControlFile, slots));
	for (int i = take_byte() % 4; i > 0; i--)
		take(start + offsetof(PlhControlFile, slots) +
			 take_byte() % FIRST_SLOTS * sizeof(PlhControlSlot),
			 sizeof(PlhControlSlot));
	take(&last, sizeof(last));
	fuzz_write_file(control_path, start, Min(bytes, sizeof(start)));
	fd = open(control_path, O_RDWR);
	if (fd < 0 || ftruncate(fd, bytes) != 0 ||
		(bytes == sizeof(PlhControlFile) &&
		 !plh_whole_io_write(fd, &last, sizeof(last), bytes - sizeof(last))))
		abort();
	close(fd);
}

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t bytes)
{
	rest = data;
	rest_bytes = bytes;
	snprintf(control_path, sizeof(control_path), "%s/" CONTROL_FILE ".1",
			 fuzz_directory());
	write_control_file();
	plh_control_forget();
	plh_control_start(fuzz_directory(), 1, take_byte() % 8 == 0);
	fuzz_accepted += plh_control_file != NULL;
	(void) fuzz_run(bytes, use_file, NULL);
	unlink(control_path);
	if (plh_control_file != NULL)
		munmap(plh_control_file, sizeof(PlhControlFile));
	plh_control_file = NULL;
	plh_control_changes = NULL;
	return 0;
}
