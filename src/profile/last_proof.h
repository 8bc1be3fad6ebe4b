/*
 * last_proof.h
 *	  The last proof of a process, read by descriptors alone.
 *
 * Callable inside palloc and at exit: nothing is allocated or thrown.  A session that asks reads
 * all of it instead (reader/proof_file.h).
 */
#pragma once

#include "profile/proof_layout.h"

typedef struct PlhLastProof
{
	int			fd;
	Size		bytes;			/* of the file */
	PlhProof	head;			/* without groups */
}			PlhLastProof;

/* For this process and those that it forks.  The path must stay valid. */
extern void plh_last_proof_start(const char *directory);

/* That of the process with that profile.  False: it has none; else the file is to be closed. */
extern bool plh_last_proof_open(PlhLastProof * proof, const PlhProfileHeader *header);
extern void plh_last_proof_close(PlhLastProof * proof);

/* The header alone.  False: nothing was proven. */
extern bool plh_last_proof_peek(PlhProof *head, const PlhProfileHeader *header);
