/*
 * server_memory.h
 *	  What the server of a scenario takes beside the private memory of its processes.
 */
#ifndef SERVER_MEMORY_H
#define SERVER_MEMORY_H

#include "scenario_words.h"

/* The words of one figure, and its size.  Returns false where they are none of them. */
extern bool server_memory_set(Words *words);

#endif							/* SERVER_MEMORY_H */
