/*
 * look_threads.c
 *	  Stops the threads of another process for a moment, and reads their registers.
 */
#include "postgres.h"

#include <dirent.h>
#include <elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "look/look_threads.h"

/* A thread in the middle of a system call that does not end does not stop. */
#define MOST_WAIT_US (5 * USECS_PER_SEC)
#define POLL_NS 20000

/* The ABI lets functions that call no others use so much below the stack pointer. */
#ifdef __x86_64__
#define RED_ZONE 128
#else
#define RED_ZONE 0
#endif

static bool
is_in_list(const PlhLookThreads *threads, int id)
{
	for (int i = 0; i < threads->count; i++)
		if (threads->list[i].id == id)
			return true;
	return false;
}

static PlhLookThread *
add_thread(PlhLookThreads *threads, int id)
{
	if (threads->count == threads->room)
	{
		threads->room = Max(16, 2 * threads->room);
		threads->list = threads->list == NULL ?
			palloc(threads->room * sizeof(PlhLookThread)) :
			repalloc(threads->list, threads->room * sizeof(PlhLookThread));
	}
	threads->list[threads->count] = (PlhLookThread)
	{
		.id = id
	};
	return &threads->list[threads->count++];
}

/* Wait until a thread has stopped, by our request or by a signal that has come first. */
static bool
wait_for(PlhLookThreads *threads, PlhLookThread *thread)
{
	const struct timespec pause = {.tv_nsec = POLL_NS};
	int			status;
	int			id;

	while ((id = waitpid(thread->id, &status, __WALL | WNOHANG)) == 0)
	{
		if (plh_clock_us(CLOCK_MONOTONIC) - threads->since_us > MOST_WAIT_US)
		{
			errno = ETIMEDOUT;
			return false;
		}
		nanosleep(&pause, NULL);
	}
	if (id < 0 || !WIFSTOPPED(status))
	{
		errno = ESRCH;
		return false;
	}
	thread->is_stopped = true;
	if (status >> 16 == 0)
		thread->signal = WSTOPSIG(status);
	return true;
}

/* Ask a thread to stop.  One that has ended meanwhile is left out. */
static bool
stop_thread(PlhLookThreads *threads, int id)
{
	PlhLookThread *thread;

	if (ptrace(PTRACE_SEIZE, id, NULL, NULL) != 0)
		return errno == ESRCH && id != threads->pid;
	thread = add_thread(threads, id);
	if (ptrace(PTRACE_INTERRUPT, id, NULL, NULL) != 0 || !wait_for(threads, thread))
	{
		if (errno != ESRCH || id == threads->pid)
			return false;
		threads->count--;
	}
	return true;
}

/* Stop all threads that are not stopped yet.  Returns how many these were, or -1. */
static int
stop_listed(PlhLookThreads *threads)
{
	char		path[64];
	DIR		   *folder;
	struct dirent *entry;
	int			before = threads->count;
	bool		is_done = true;
	int			problem;

	snprintf(path, sizeof(path), "/proc/%d/task", threads->pid);
	folder = opendir(path);
	if (folder == NULL)
		return -1;
	while (is_done && (entry = readdir(folder)) != NULL)
	{
		int			id = atoi(entry->d_name);

		if (id > 0 && !is_in_list(threads, id))
			is_done = stop_thread(threads, id);
	}
	problem = errno;
	closedir(folder);
	errno = problem;
	return is_done ? threads->count - before : -1;
}

bool
plh_look_threads_stop(PlhLookThreads *threads, int pid)
{
	sigset_t	all;
	int			stopped;

	*threads = (PlhLookThreads)
	{
		.pid = pid,.since_us = plh_clock_us(CLOCK_MONOTONIC)
	};
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &threads->blocked_before);

	/* those that run may start others until all are stopped */
	while ((stopped = stop_listed(threads)) > 0)
		;
	return stopped == 0;
}

int64
plh_look_threads_go(PlhLookThreads *threads)
{
	int64		us;

	for (int i = 0; i < threads->count; i++)
	{
		PlhLookThread *thread = &threads->list[i];

		/* one that has not stopped goes on when this process ends */
		if (thread->is_stopped)
			(void) ptrace(PTRACE_DETACH, thread->id, NULL, (void *) (uintptr_t) thread->signal);
	}
	us = plh_clock_us(CLOCK_MONOTONIC) - threads->since_us;
	sigprocmask(SIG_SETMASK, &threads->blocked_before, NULL);
	return us;
}

static Size
read_set(int id, int type, char *room, Size bytes)
{
	struct iovec part = {room, bytes};

	return ptrace(PTRACE_GETREGSET, id, (void *) (uintptr_t) type, &part) == 0 ? part.iov_len : 0;
}

/* Vector registers may hold addresses, too, as while memory is moved. */
static Size
read_registers(int id, char *room)
{
	Size		bytes = read_set(id, NT_PRSTATUS, room, PLH_LOOK_REGISTER_BYTES);
	Size		more = 0;

	if (bytes == 0)
		return 0;
#ifdef __x86_64__
	more = read_set(id, NT_X86_XSTATE, room + bytes, PLH_LOOK_REGISTER_BYTES - bytes);
#endif
	if (more == 0)
		more = read_set(id, NT_PRFPREG, room + bytes, PLH_LOOK_REGISTER_BYTES - bytes);
	return TYPEALIGN_DOWN(sizeof(uint64), bytes + more);
}

void
plh_look_threads_pointers(PlhLookRegisters *registers, const char *general)
{
	struct user_regs_struct known;

	memcpy(&known, general, sizeof(known));
#ifdef __x86_64__
	registers->stack = known.rsp - RED_ZONE;
	registers->thread = known.fs_base;
#else
	registers->stack = known.sp - RED_ZONE;
#endif
}

static void
take_pointers(int id, const char *general, PlhLookRegisters *registers)
{
	plh_look_threads_pointers(registers, general);
#ifndef __x86_64__
	(void) read_set(id, NT_ARM_TLS, (char *) &registers->thread, sizeof(registers->thread));
#endif
}

Size
plh_look_threads_registers(const PlhLookThreads *threads, char *room, PlhLookRegisters *registers)
{
	Size		all = 0;

	for (int i = 0; i < threads->count; i++)
	{
		Size		bytes = read_registers(threads->list[i].id, room + all);

		if (bytes == 0)
			return 0;
		if (threads->list[i].id == threads->pid)
			take_pointers(threads->list[i].id, room + all, registers);
		all += bytes;
	}
	return all;
}
