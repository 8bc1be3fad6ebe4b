/*
 * memory_limits.h
 *	  What limits the memory of a server, as parts behind those of what it uses.
 */
#pragma once

#include "judge/memory_part.h"
#include "reader/server_memory.h"

/* Append them to the parts. */
extern void plh_memory_limits_put(List **parts, const PlhServerMemory *memory);
