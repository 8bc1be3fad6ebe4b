/*
 * proof_file.h
 *	  Reads the last proof of a process.
 *
 * A file that is no proof, or of another process, is as if there were none.
 */
#pragma once

#include "profile/proof_image.h"

/* In the current memory context; NULL: there is none. */
extern const PlhProof *plh_proof_file_read(const char *directory, int pid, uint64 process_start);

/* That of the image's process; image->proof is set. */
extern void plh_proof_file_attach(const char *directory, PlhProfileImage *image);
