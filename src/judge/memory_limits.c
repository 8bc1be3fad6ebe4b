/*
 * memory_limits.c
 *	  What limits the memory of a server, as parts behind those of what it uses.
 */
#include "postgres.h"

#include "judge/memory_limits.h"

/* A limit that there is none of, or that is not known. */
static void
put_unknown(List **parts, PlhMemoryPartId id)
{
	plh_memory_part_put(parts, id, NULL, 0)->is_unknown = true;
}

/* What limits the group. */
static void
put_group_limits(List **parts, const PlhMemoryUse *use)
{
	if (use->limit_bytes == 0)
		put_unknown(parts, PLH_PART_NO_LIMIT);
	plh_memory_part_put_some(parts, PLH_PART_LIMIT, NULL, use->limit_bytes);
	plh_memory_part_put_some(parts, PLH_PART_SLOW_LIMIT, NULL, use->slow_bytes);
	plh_memory_part_put_some(parts, PLH_PART_OUTER_LIMIT, NULL, use->outer_limit_bytes);
}

/* What the kernel promises at most. */
static void
put_promises(List **parts, const PlhMemoryPromises *promises)
{
	if (promises->mode != PLH_PROMISES_WHAT_IT_HAS)
	{
		put_unknown(parts, PLH_PART_NO_PROMISES);
		return;
	}
	plh_memory_part_put(parts, PLH_PART_PROMISES, NULL, promises->limit_bytes);
	plh_memory_part_put(parts, PLH_PART_PROMISED, NULL, promises->promised_bytes);
}

void
plh_memory_limits_put(List **parts, const PlhServerMemory *memory)
{
	const PlhMemoryUse *use = &memory->use;

	if (use->of_group)
		put_group_limits(parts, use);
	plh_memory_part_put(parts, PLH_PART_MACHINE, NULL, memory->machine_bytes);
	if (use->swap_bytes < 0)
		put_unknown(parts, PLH_PART_SWAP_UNKNOWN);
	else
		plh_memory_part_put(parts, PLH_PART_SWAP, NULL, use->swap_bytes);
	if (memory->shm_size > 0)
	{
		plh_memory_part_put(parts, PLH_PART_SHM_SIZE, NULL, memory->shm_size);
		plh_memory_part_put(parts, PLH_PART_SHM_USED, NULL, memory->shm_used);
	}
	put_promises(parts, &memory->promises);
}
