/*
 * shared_memory.h
 *	  Gives up the memory that a symbolizer's process shares with the server.
 *
 * Called in that process, which has just been forked.  Makes plain system calls only.
 */
#pragma once

/*
 * Unmaps the shared memory of PostgreSQL and of pg_leakhunt, and no other library's.  Returns false
 * if it can't be told whether any is left.
 */
extern bool plh_shared_memory_unmap(void);
