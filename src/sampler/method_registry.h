/*
 * method_registry.h
 *	  The server's own function by which a module replaces memory context methods.
 *
 * No release has it: contrib/postgresql-19-method-hook.patch adds it, and doc/upstream.md says why.
 * These functions are called when pg_leakhunt is loaded.
 */
#pragma once

#include "nodes/memnodes.h"

#include "sampler/chunk_mark.h"

/* Before 17, there are no method ids for what we do with them. */
#define PLH_METHODS_CAN_BE_REGISTERED PLH_MARKS_CHUNKS

extern bool plh_method_registry_is_open(void);
#if PLH_METHODS_CAN_BE_REGISTERED
extern void plh_method_registry_set(MemoryContextMethodID id, const MemoryContextMethods *row);
#endif
