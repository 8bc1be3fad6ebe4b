/*
 * look_server.h
 *	  Which PostgreSQL a process is of, and where its memory contexts begin.
 */
#pragma once

#include "heap/heap_layout.h"
#include "look/look_copy.h"

typedef struct PlhLookServer
{
	int			version_num;	/* of the major version */
	char		version[64];	/* as the server says it */
	uintptr_t	top_context;
	uintptr_t	cache_context;	/* 0: there is none yet */
	PlhHeapLayout layout;
} PlhLookServer;

/* Is it a process of a PostgreSQL that can be looked at?  If not, an error says why. */
extern void plh_look_server_check(int pid);

/* Find these in a copy.  If they are not what they must be, an error says why. */
extern void plh_look_server_find(PlhLookServer *server, PlhLookCopy *copy);
