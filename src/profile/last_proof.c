/*
 * last_proof.c
 *	  The last proof of a process, read by descriptors alone.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/page_layout.h"
#include "base/whole_io.h"
#include "profile/last_proof.h"
#include "profile/proof_image.h"
#include "profile/proof_name.h"

#define HEAD_BYTES offsetof(PlhProof, groups)

static PLH_SET_AT_LOAD const char *directory_path;

void
plh_last_proof_start(const char *directory)
{
	directory_path = directory;
}

/* Is it as large as its header says, and of that process? */
static bool
read_head(PlhLastProof * proof, const PlhProfileHeader *header)
{
	struct stat status;

	if (fstat(proof->fd, &status) != 0 || !S_ISREG(status.st_mode))
		return false;
	proof->bytes = status.st_size;
	return plh_whole_io_read(proof->fd, &proof->head, HEAD_BYTES, 0) == HEAD_BYTES &&
		plh_proof_image_is_sound_head(&proof->head, proof->bytes) &&
		proof->head.pid == header->pid && proof->head.process_start == header->process_start;
}

bool
plh_last_proof_open(PlhLastProof * proof, const PlhProfileHeader *header)
{
	char		path[PLH_PATH_MAX];

	if (directory_path == NULL)
		return false;
	plh_proof_name_make(path, sizeof(path), directory_path, header->pid);
	proof->fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (proof->fd < 0)
		return false;
	if (read_head(proof, header))
		return true;
	plh_last_proof_close(proof);
	return false;
}

void
plh_last_proof_close(PlhLastProof * proof)
{
	close(proof->fd);
	proof->fd = -1;
}

bool
plh_last_proof_peek(PlhProof *head, const PlhProfileHeader *header)
{
	PlhLastProof proof;

	if (!plh_last_proof_open(&proof, header))
		return false;
	plh_last_proof_close(&proof);
	memcpy(head, &proof.head, HEAD_BYTES);
	return head->outcome == PLH_PROOF_PROVEN;
}
