/*
 * memory_message.h
 *	  What a server's log says of memory beside statistics of contexts: which message it is, and
 *	  its figures.
 *
 * Nothing here allocates or throws.
 */
#pragma once

#include "statistics/log_entry.h"

typedef enum PlhMessageKind
{
	PLH_MESSAGE_NONE,
	PLH_MESSAGE_INVALID_SIZE,	/* invalid memory alloc request size N */
	PLH_MESSAGE_OUT_OF_MEMORY,	/* out of memory */
	PLH_MESSAGE_STRING_TOO_LONG,	/* the same, or by its own name, of a
									 * buffer beyond 1 GB */
	PLH_MESSAGE_SHARED_TABLE,	/* out of shared memory */
	PLH_MESSAGE_SEGMENT,		/* could not resize shared memory segment */
	PLH_MESSAGE_FORK,			/* could not fork */
	PLH_MESSAGE_SIGNAL_9,		/* terminated by signal 9 */
	PLH_MESSAGE_NO_SHARED,		/* could not map anonymous shared memory */
	PLH_MESSAGE_UNIT_KILLED,	/* systemd's, of a service */
	PLH_MESSAGE_CONTAINER_KILLED,	/* Kubernetes', of a container */
	PLH_MESSAGE_VICTIM,			/* another process has crashed */
	PLH_MESSAGE_CLIENT			/* a client has no memory left */
} PlhMessageKind;

/* No value is as long as this. */
#define PLH_MESSAGE_HUGE_BYTES (UINT64CONST(1) << 40)

#define PLH_MESSAGE_NAME_ROOM 64
#define PLH_MESSAGE_STATEMENT_ROOM 512

/* Messages of a kind about the same: the first of them, and figures of all. */
typedef struct PlhMemoryMessage
{
	PlhMessageKind kind;
	int64		count;
	int64		pid;			/* of the first; 0: not known */
	uint64		bytes;			/* the largest that was asked for; 0: not said */
	bool		no_space;		/* the reason was ENOSPC */
	bool		no_memory;		/* ENOMEM */
	bool		try_again;		/* EAGAIN */
	bool		has_statistics; /* the process' own are in the text */
	bool		of_predicates;	/* the table of predicate locks */
	bool		of_vacuum;		/* it was vacuuming */
	bool		of_dsa;			/* it asked for dynamic shared memory */
	bool		by_kernel;		/* it says that the kernel did it */
	bool		by_oomd;		/* or systemd-oomd */
	char		context[PLH_MESSAGE_NAME_ROOM]; /* or kind of process, or
												 * service; may be empty */
	char		statement[PLH_MESSAGE_STATEMENT_ROOM];	/* may be empty */
} PlhMemoryMessage;

#define PLH_MESSAGES 24

typedef struct PlhMemoryMessages
{
	int			count;
	int64		left_out;		/* further ones, for which there is no place */
	int64		last_pid;		/* whose log lines follow the last one; 0: not
								 * known */
	PlhMemoryMessage pending;	/* that, which is entered with its details */
	PlhMemoryMessage list[PLH_MESSAGES];
} PlhMemoryMessages;

/* By which programs know it. */
extern const char *plh_memory_message_name(PlhMessageKind kind);

/* Take note of an entry, if it is such a message or belongs to one. */
extern void plh_memory_message_take(PlhMemoryMessages *messages, const PlhLogEntry *entry);

/* No more entries follow. */
extern void plh_memory_message_end(PlhMemoryMessages *messages);
