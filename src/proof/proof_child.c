/*
 * proof_child.c
 *	  What the child does that a process forks to have itself proven.
 */
#include "postgres.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "utils/memutils.h"

#include "base/detached_child.h"
#include "base/fork.h"
#include "base/limits.h"
#include "base/page_layout.h"
#include "base/process_facts.h"
#include "base/whole_io.h"
#include "heap/heap_malloc.h"
#include "profile/profile_file.h"
#include "profile/proof_name.h"
#include "profile/shared_directory.h"
#include "proof/proof_child.h"
#include "proof/proof_sites.h"
#include "proof/proof_told.h"
#include "sampler/chunk_mark.h"
#include "sampler/live_samples.h"
#include "sampler/malloc_samples.h"

#if PLH_MARKS_CHUNKS
StaticAssertDecl(PLH_MARK == PLH_HEAP_METHOD_MARK, "chunks that are samples would not be known as chunks");
#endif

/* A proof of 1 GB takes some 3 s. */
#define LEAST_SECONDS 20
#define SECONDS_PER_GB 20

/* Its priority is the lowest: on a busy machine it takes so many times as long by the clock. */
#define CLOCK_TIMES 30

/* Its memory is some 5% of what it looks at; reserved is more, for what might come. */
#define ADDED_BYTES (UINT64CONST(64) * 1024 * 1024 * 1024)

/* Of the child: what it writes, and where. */
static PLH_LARGE PLH_SURVIVES_FORK PlhProof begun;
static PLH_SURVIVES_FORK const int64 *stopped_us;
static PLH_SURVIVES_FORK const char *directory_path;

static int64
own_cpu_us(void)
{
	struct rusage used;

	if (getrusage(RUSAGE_SELF, &used) != 0)
		return 0;
	return (int64) (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * USECS_PER_SEC +
		used.ru_utime.tv_usec + used.ru_stime.tv_usec;
}

/* The file appears as a whole, or not at all. */
static bool
write_file(const PlhProof *proof, Size bytes)
{
	char		path[PLH_PATH_MAX];
	char		temporary[PLH_PATH_MAX];
	bool		is_written;
	int			fd;

	plh_proof_name_make(path, sizeof(path), directory_path, begun.pid);
	plh_proof_name_unfinished(temporary, sizeof(temporary), directory_path, begun.pid);
	if (!plh_shared_directory_has_room(directory_path, bytes, PLH_ROOM_RECORDS))
		return false;
	(void) unlink(temporary);
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
	if (fd < 0)
		return false;
	is_written = plh_whole_io_write(fd, proof, bytes, PLH_FILE_POSITION);
	close(fd);
	if (is_written && rename(temporary, path) == 0)
		return true;
	(void) unlink(temporary);
	return false;
}

/* What this process is, with what it did. */
static void
fill_head(PlhProof *proof)
{
	memcpy(proof->magic, PLH_PROOF_MAGIC, sizeof(proof->magic));
	proof->pid = begun.pid;
	proof->process_start = begun.process_start;
	proof->at = begun.at;
	proof->private_bytes = begun.private_bytes;
	proof->fork_us = stopped_us == MAP_FAILED ? 0 : *stopped_us;
	proof->malloc = begun.malloc;
	proof->child_us = own_cpu_us();
	proof->child_bytes = Max(0, plh_process_facts_rss_anon_bytes(getpid()) - begun.private_bytes);
}

/* Say why there is no proof, and end. */
static void
end_without(PlhProofOutcome outcome, int problem)
{
	begun.outcome = outcome;
	begun.problem = problem;
	fill_head(&begun);
	(void) write_file(&begun, offsetof(PlhProof, groups));
	_exit(0);
}

static void
end_of_time(int signal_number)
{
	end_without(PLH_PROOF_NO_TIME, 0);
}

static bool
exclude(PlhHeapMemory *memory, const PlhRegion *region)
{
	return region->base == NULL ||
		plh_heap_memory_exclude(memory, (uintptr_t) region->base,
								(uintptr_t) region->base + region->reserved_bytes);
}

/* What we note of samples and contexts holds nothing. */
static bool
read_memory(PlhHeapMemory *memory)
{
	return plh_heap_memory_own(memory) && exclude(memory, plh_live_samples_region()) &&
		exclude(memory, plh_live_samples_context_region()) &&
		exclude(memory, plh_malloc_samples_region());
}

/* Chunks of a server that was built to check them have other headers. */
static const PlhHeapLayout *
own_layout(void)
{
#ifdef MEMORY_CONTEXT_CHECKING
	return NULL;
#else
	return plh_heap_layout_of(PG_VERSION_NUM);
#endif
}

/*
 * Have malloc's blocks looked at, too, where that can be.  Returns false without room.  A thread's
 * variables lie near the address that it is known by; those of the child are the process'.
 */
static bool
walk_malloc(PlhHeapContexts *contexts)
{
	PlhHeapMallocState state;

	if (begun.malloc != PLH_PROOF_MALLOC_UNKNOWN)
		return true;
	state = plh_heap_malloc_walk(contexts, (uintptr_t) pthread_self());
	if (state == PLH_HEAP_MALLOC_PROVEN)
		begun.malloc = PLH_PROOF_MALLOC_PROVEN;
	return state != PLH_HEAP_MALLOC_NO_ROOM;
}

/* Registers are on the stack, by the caller: what it holds only there is held. */
static pg_noinline void
prove(PlhProofSites *sites)
{
	const PlhHeapLayout *layout = own_layout();
	PlhHeapMemory memory;
	PlhHeapIndex index;
	PlhHeapContexts contexts;
	PlhHeapMark mark = {
		.found = plh_proof_sites_found,.arg = sites,.observer = (uintptr_t) &begun
	};
	PlhHeapRoots *roots;
	PlhProof   *proof;
	Size		bytes;

	if (layout == NULL)
		end_without(PLH_PROOF_UNKNOWN_LAYOUT, 0);
	if (!read_memory(&memory) ||
		!plh_heap_index_start(&index, plh_heap_memory_root_bytes(&memory)))
		end_without(PLH_PROOF_NO_MEMORY, errno);
	if (!plh_heap_contexts_walk(&contexts, layout, &memory, &index, (uintptr_t) TopMemoryContext))
		end_without(PLH_PROOF_UNKNOWN_LAYOUT, 0);
	if (!walk_malloc(&contexts))
		end_without(PLH_PROOF_NO_MEMORY, errno);
	if (!plh_proof_sites_start(sites, &contexts) || !plh_heap_mark_start(&mark, &contexts))
		end_without(PLH_PROOF_NO_MEMORY, errno);
	roots = plh_heap_roots_mark(&mark, (uintptr_t) __builtin_frame_address(0));
	if (roots == NULL)
		end_without(PLH_PROOF_DIED, 0);
	plh_proof_sites_finish(sites);
	proof = plh_proof_told_make(&sites->groups, roots, &bytes);
	if (proof == NULL)
		end_without(PLH_PROOF_NO_MEMORY, errno);
	fill_head(proof);
	_exit(write_file(proof, bytes) ? 0 : 1);
}

/*
 * A process that has left its session, as this one has, is in a group of its own for the scheduler,
 * which gives each group the same share: so the group is to be nice, too.
 */
static void
take_lowest_priority(void)
{
	static const char lowest[] = "19\n";
	int			fd;

	(void) setpriority(PRIO_PROCESS, 0, 19);
	if (getsid(0) != getpid() ||
		(fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC)) < 0)
		return;
	(void) plh_whole_io_write(fd, lowest, strlen(lowest), PLH_FILE_POSITION);
	close(fd);
}

void
plh_proof_child_run(const PlhProof *head, const int64 *stopped, const char *directory)
{
	PlhProofSites *sites;
	volatile	stack_t signals;

	memcpy(&begun, head, offsetof(PlhProof, groups));
	stopped_us = stopped;
	directory_path = directory;

	/* while the profile is mapped */
	sites = plh_proof_sites_make();
	plh_detached_child_begin(begun.pid, -1, -1, plh_profile, ADDED_BYTES);
	if (sites == NULL)
		end_without(PLH_PROOF_NO_MEMORY, errno);
	signal(SIGXCPU, end_of_time);
	signal(SIGALRM, end_of_time);
	alarm(CLOCK_TIMES * (LEAST_SECONDS + SECONDS_PER_GB * (begun.private_bytes >> 30)));
	plh_detached_child_limit_cpu(LEAST_SECONDS + SECONDS_PER_GB * (begun.private_bytes >> 30));
	take_lowest_priority();

	/*
	 * a stack for signals may be known to the kernel only: its address is on
	 * this one
	 */
	(void) sigaltstack(NULL, (stack_t *) & signals);

	/* registers that functions keep for their callers go to the stack */
	__builtin_unwind_init();
	prove(sites);
	_exit(0);
}
