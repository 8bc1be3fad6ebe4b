/*
 * look_heap.c
 *	  The memory contexts of a process that was copied: what is lost, and who holds the rest.
 */
#include "postgres.h"

#include "nodes/nodes.h"

#include "base/compat.h"
#include "heap/heap.h"
#include "heap/heap_malloc.h"
#include "look/look_core.h"
#include "look/look_heap.h"
#include "look/look_statistics.h"
#include "proof/proof_told.h"
#include "statistics/context_names.h"

/* So often a process is looked at that is in the middle of changing its contexts. */
#define MOST_TRIES 3

static void
fail_copy(int pid)
{
	if (errno == ESRCH || errno == ENOENT)
		ereport(ERROR, (errmsg("process %d has ended meanwhile", pid)));
	if (errno == EPERM || errno == EACCES)
		ereport(ERROR, (errmsg("permission denied to look at process %d", pid),
						errhint("Run this as root, or as the server's user. Where "
								"/proc/sys/kernel/yama/ptrace_scope is not 0, only root may. "
								"A process that a debugger has stopped can't be looked at, too.")));
	if (errno == ETIMEDOUT)
		ereport(ERROR, (errmsg("process %d does not stop", pid),
						errhint("It waits for a disk or a network file system. "
								"Try again, or use --no-stop.")));
	ereport(ERROR, (errmsg("could not copy the memory of process %d: %m", pid),
					errhint("This program needs as much memory as the process has, for a while.")));
}

static uint32
count_closed(const PlhHeapContexts *contexts)
{
	uint32		closed = 0;

	for (uint32 i = 0; i < contexts->count; i++)
		closed += (contexts->list[i].flags & PLH_HEAP_CLOSED) != 0;
	return closed;
}

/* Walk what was copied.  Returns false if the tree is not what it should be. */
static bool
walk_copy(PlhLookHeap *heap)
{
	plh_look_server_find(&heap->server, &heap->copy);
	if (!plh_heap_index_start(&heap->index, plh_heap_memory_root_bytes(&heap->copy.memory)))
		ereport(ERROR, (errmsg("out of memory")));
	return plh_heap_contexts_walk(&heap->contexts, &heap->server.layout, &heap->copy.memory,
								  &heap->index, heap->server.top_context);
}

/* The process notes addresses of chunks, which nobody here tells from others. */
static bool
is_sampled(const PlhLookCopy *copy)
{
	for (uint32 i = 0; i < copy->memory.count; i++)
		if (strstr(copy->memory.segments[i].path, "/pg_leakhunt.so") != NULL)
			return true;
	return false;
}

static void
check_tree(const PlhLookHeap *heap, bool is_whole)
{
	if (!is_whole)
		ereport(ERROR, (errmsg("the memory contexts of process %d are not what they are in "
							   "PostgreSQL %s", heap->copy.pid, heap->server.version),
						errhint("The process may be damaged, or its server was changed.")));
}

void
plh_look_heap_walk(PlhLookHeap *heap, int pid, bool stops)
{
	int64		stopped_us = 0;
	bool		is_whole = false;

	for (int try = 1; try <= MOST_TRIES; try++)
	{
		if (!plh_look_copy_make(&heap->copy, pid, stops))
			fail_copy(pid);
		is_whole = walk_copy(heap);
		stopped_us += heap->copy.stopped_us;
		if ((is_whole && count_closed(&heap->contexts) == 0) || try == MOST_TRIES)
			break;
		plh_look_copy_forget(&heap->copy);
	}
	check_tree(heap, is_whole);
	heap->copy.stopped_us = stopped_us;
	heap->is_sampled = is_sampled(&heap->copy);
}

void
plh_look_heap_walk_core(PlhLookHeap *heap, const char *file, const char *binary)
{
	plh_look_core_read(&heap->copy, file, binary);
	check_tree(heap, walk_copy(heap));
	heap->is_sampled = is_sampled(&heap->copy);
}

void
plh_look_heap_read(PlhLookHeap *heap, PlhLogReading *reading)
{
	plh_look_statistics_read(&heap->contexts, heap->copy.pid, reading);
}

/* How long contexts live is told by their names, and those above them. */
static PlhLifetime
lifetime_of(const PlhHeapContexts *contexts, uint32 number)
{
	const PlhHeapContext *context = &contexts->list[number];
	char		name[PLH_CONTEXT_NAME_MAX + 1];

	if (context->parent == PLH_HEAP_NO_CONTEXT)
		return PLH_LIFETIME_SESSION;
	(void) plh_heap_memory_text(contexts->memory, context->name, name, sizeof(name));
	return plh_context_names_below(name, context->parent == 0 ?
								   plh_context_names_top_child(name) :
								   lifetime_of(contexts, context->parent));
}

/* Tags of other versions than the one that this was built for are not known. */
static PlhHeapTags
tags_of(const PlhLookServer *server)
{
	const PlhHeapTags own = {
		{T_List, T_IntList, T_OidList, PLH_XID_LIST_TAG}, T_AllocSetContext
	};
	const PlhHeapTags none = {
		{PG_UINT32_MAX, PG_UINT32_MAX, PG_UINT32_MAX, PG_UINT32_MAX}, 0
	};

	return server->version_num / 10000 == PG_VERSION_NUM / 10000 ? own : none;
}

static void
walk_malloc(PlhLookHeap *heap)
{
	if (heap->copy.threads != 1)
	{
		heap->malloc = PLH_PROOF_MALLOC_THREADS;
		return;
	}
	switch (plh_heap_malloc_walk(&heap->contexts, heap->copy.registers.thread))
	{
		case PLH_HEAP_MALLOC_PROVEN:
			heap->malloc = PLH_PROOF_MALLOC_PROVEN;
			break;
		case PLH_HEAP_MALLOC_UNKNOWN:
			heap->malloc = PLH_PROOF_MALLOC_UNKNOWN;
			break;
		default:
			ereport(ERROR, (errmsg("out of memory")));
	}
}

/* The bytes of malloc's blocks, all of which were looked at. */
static int64
bytes_of_malloc(const PlhProofGroups *groups)
{
	const PlhHeapContexts *contexts = groups->contexts;

	for (uint32 i = contexts->count; i-- > 0;)
		if (contexts->list[i].flags & PLH_HEAP_MALLOC)
			return groups->chunk_bytes[i];
	return 0;
}

void
plh_look_heap_prove(PlhLookHeap *heap)
{
	PlhProofGroups *groups = palloc0(sizeof(PlhProofGroups));
	const PlhProofServer server = {
		.tags = tags_of(&heap->server),
		.lasting = {{heap->server.top_context, heap->server.cache_context}},
		.lifetime_of = lifetime_of
	};
	PlhHeapMark mark = {.found = plh_proof_groups_found,.arg = groups};
	PlhHeapRoots *roots;
	Size		bytes;

	walk_malloc(heap);
	if (!plh_proof_groups_make(groups) ||
		!plh_proof_groups_start(groups, &heap->contexts, &server) ||
		!plh_heap_mark_start(&mark, &heap->contexts))
		ereport(ERROR, (errmsg("out of memory")));
	roots = plh_heap_roots_mark(&mark, heap->copy.registers.stack);
	if (roots == NULL)
		ereport(ERROR, (errmsg("out of memory")));
	plh_proof_groups_finish(groups);
	heap->malloc_bytes = bytes_of_malloc(groups);
	heap->proof = plh_proof_told_make(groups, roots, &bytes);
	if (heap->proof == NULL)
		ereport(ERROR, (errmsg("out of memory")));
}
