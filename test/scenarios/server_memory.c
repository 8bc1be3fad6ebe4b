/*
 * server_memory.c
 *	  What the server of a scenario takes beside the private memory of its processes.
 *
 * Without a word of that nothing of it is known.
 */
#include "postgres.h"

#include "base/process_facts.h"
#include "reader/control_group.h"
#include "reader/named_segments.h"
#include "reader/server_memory.h"
#include "reader/server_processes.h"
#include "server_memory.h"

static PlhServerMemory known =
{
	.buffer_bytes = -1
};

/* The words of a figure, which a size follows. */
static const struct
{
	const char *words[2];
	int64	   *bytes;
}			figures[] = {
	{{"page", "tables"}, &known.page_table_bytes},
	{{"touched"}, &known.touched_bytes},
	{{"swapped"}, &known.swapped_bytes},
	{{"buffers"}, &known.buffer_bytes},
	{{"shared_buffers"}, &known.buffers_size},
	{{"main", "segment"}, &known.main_bytes},
	{{"dynamic", "segments"}, &known.dynamic_bytes},
	{{"profiles"}, &known.profile_bytes},
	{{"shm", "size"}, &known.shm_size},
	{{"shm", "used"}, &known.shm_used},
	{{"group", "uses"}, &known.use.used_bytes},
	{{"group", "private"}, &known.use.private_bytes},
	{{"group", "shared"}, &known.use.shared_bytes},
	{{"group", "files"}, &known.use.file_bytes},
	{{"group", "kernel"}, &known.use.kernel_bytes},
	{{"group", "limit"}, &known.use.limit_bytes},
	{{"group", "slow"}, &known.use.slow_bytes},
	{{"group", "around"}, &known.use.outer_limit_bytes}
};

bool
server_memory_set(Words *words)
{
	for (int i = 0; i < lengthof(figures); i++)
	{
		int			at = words->at;

		if (words_take(words, figures[i].words[0]) &&
			(figures[i].words[1] == NULL || words_take(words, figures[i].words[1])))
		{
			*figures[i].bytes = words_size(words);
			known.has_use = known.use.of_group = known.use.used_bytes > 0;
			return true;
		}
		words->at = at;
	}
	if (words_take(words, "huge"))
		known.is_huge = true;
	else if (words_take(words, "huge_pages"))
		known.huge_pages_needed = words_number(words);
	else
		return false;
	return true;
}

/* Each process of a scenario touches no shared memory, and shares none since a fork. */
void
plh_server_memory_read(PlhServerMemory *memory, const char *directory, const char *group)
{
	List	   *pids = plh_server_processes_list();
	ListCell   *cell;

	*memory = known;
	memory->processes = palloc0(sizeof(PlhServerProcess) * Max(1, list_length(pids)));
	foreach(cell, pids)
	{
		PlhServerProcess *process = &memory->processes[memory->process_count++];

		process->pid = lfirst_int(cell);
		process->share_bytes = Max(0, plh_process_facts_rss_anon_bytes(process->pid));
		memory->private_bytes += process->share_bytes;
	}
	memory->share_bytes = memory->private_bytes;
}

/* There are no other groups. */
bool
plh_control_group_has_this_process(const char *name)
{
	return false;
}

/* There is no server that could be asked. */
List *
plh_named_segments_read(void)
{
	return NIL;
}
