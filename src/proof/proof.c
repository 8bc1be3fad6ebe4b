/*
 * proof.c
 *	  Has this process proven by a child, on which it does not wait.
 *
 * The child is made by the system call, not by fork(): handlers of that would have it forget its
 * samples, and may need locks that threads of this process hold.
 */
#include "postgres.h"

#include <signal.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "base/allocator.h"
#include "base/clock.h"
#include "base/fork.h"
#include "base/guard.h"
#include "base/process_facts.h"
#include "profile/profile_file.h"
#include "profile/proof_name.h"
#include "proof/proof.h"
#include "proof/proof_child.h"
#include "sampler/errands.h"
#include "sampler/publication.h"

/* A child that was killed is waited for so often, and so long. */
#define KILL_TRIES 100
#define KILL_PAUSE_US 1000

/* More than the stack that the child takes. */
#define WIPED_BYTES (64 * 1024)

static PLH_SET_AT_LOAD const char *directory_path;

/* The child that is at work; 0: none.  A forked child of this process has none. */
static struct
{
	pid_t		child;
	bool		has_file;		/* or may have one */
}			state;

void
plh_proof_start(const char *directory)
{
	directory_path = directory;
}

/* Does the child still work?  If not, it is gone. */
static bool
is_working(void)
{
	if (state.child != 0 && waitpid(state.child, NULL, WNOHANG) != 0)
		state.child = 0;
	return state.child != 0;
}

/* Before it was looked at, malloc's memory is not understood. */
static PlhProofMalloc
malloc_of_process(void)
{
	if (plh_allocator() != PLH_ALLOCATOR_GLIBC)
		return PLH_PROOF_MALLOC_OTHER;
	return plh_process_facts_has_threads(getpid()) ? PLH_PROOF_MALLOC_THREADS :
		PLH_PROOF_MALLOC_UNKNOWN;
}

/*
 * All signals are blocked meanwhile, so that no handler runs in the child.  How long that took, the
 * child learns by memory that both have.
 */
static pid_t
fork_child(void)
{
	sigset_t	all_signals;
	sigset_t	signals;
	PlhProof	head = {
		.pid = getpid(),.process_start = plh_profile->process_start,
		.at = GetCurrentTimestamp()
	};
	int64		began_us = plh_clock_us(CLOCK_MONOTONIC);
	int64	   *stopped_us = mmap(NULL, sizeof(int64), PROT_READ | PROT_WRITE,
								  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t		child;
	int			saved_errno;

	head.malloc = malloc_of_process();
	head.private_bytes = plh_process_facts_rss_anon_bytes(head.pid);
	sigfillset(&all_signals);
	sigprocmask(SIG_SETMASK, &all_signals, &signals);
	child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (child == 0)
	{
		/* what it allocates is no sample */
		plh_guard_held = true;
		plh_proof_child_run(&head, stopped_us, directory_path);
	}
	saved_errno = errno;
	if (stopped_us != MAP_FAILED)
	{
		*stopped_us = plh_clock_us(CLOCK_MONOTONIC) - began_us;
		(void) munmap(stopped_us, sizeof(int64));
	}
	sigprocmask(SIG_SETMASK, &signals, NULL);
	errno = saved_errno;
	return child;
}

/*
 * Frames that come next, the child's included, are to have no words of former calls where they have
 * written nothing: these would hold what they once pointed to.
 */
static pg_noinline void
wipe_stack(void)
{
	char		below[WIPED_BYTES];

	explicit_bzero(below, sizeof(below));
}

int64
plh_proof_begin(void)
{
	pid_t		child;

	if (is_working())
		return -EBUSY;
	if (!plh_profile_file_is_published())
		plh_publication_begin();
	if (!plh_profile_file_is_published() || directory_path == NULL)
		return -ENOENT;
	wipe_stack();
	child = fork_child();
	if (child < 0)
		return -errno;
	state.child = child;
	state.has_file = true;
	return child;
}

/*
 * The copy has the registers of the thread that forks, and no others: from another thread it would
 * lack those of the server's own.
 */
static bool
is_main_thread(void)
{
	return syscall(SYS_gettid) == getpid();
}

void
plh_proof_if_asked(void)
{
	int			saved_errno = errno;
	uint32		request;

	(void) is_working();
	if (plh_errands_changed(PLH_ERRAND_PROVE) && !plh_guard_held && CritSectionCount == 0 &&
		is_main_thread())
	{
		request = plh_errands_asked(PLH_ERRAND_PROVE);
		if (request != 0)
			plh_errands_done(PLH_ERRAND_PROVE, request, plh_proof_begin());
	}
	errno = saved_errno;
}

/*
 * One that hangs in the kernel is left to init: this process is about to exit.  Where that is the
 * postmaster, as in a container, it takes a child that a signal ended for a crash: so it is asked
 * to leave (base/detached_child.c).
 */
static void
kill_child(void)
{
	(void) kill(state.child, SIGUSR1);
	for (int tries = 0; tries < KILL_TRIES && is_working(); tries++)
		pg_usleep(KILL_PAUSE_US);
	state.child = 0;
}

void
plh_proof_end_child(void)
{
	if (is_working())
		kill_child();
}

void
plh_proof_remove(void)
{
	if (state.has_file)
		plh_proof_name_unlink(directory_path, getpid());
}

void
plh_proof_forget(void)
{
	memset(&state, 0, sizeof(state));
}
