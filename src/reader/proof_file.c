/*
 * proof_file.c
 *	  Reads the last proof of a process.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "storage/fd.h"

#include "base/whole_io.h"
#include "profile/proof_name.h"
#include "reader/proof_file.h"

static PlhProof *
read_all(int fd)
{
	struct stat status;
	PlhProof   *proof;

	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
		status.st_size < offsetof(PlhProof, groups) || status.st_size > PLH_PROOF_MOST_BYTES)
		return NULL;
	proof = palloc(status.st_size);
	return plh_whole_io_read(fd, proof, status.st_size, 0) == status.st_size &&
		plh_proof_image_is_sound(proof, status.st_size) ? proof : NULL;
}

const PlhProof *
plh_proof_file_read(const char *directory, int pid, uint64 process_start)
{
	char		path[PLH_PATH_MAX];
	const PlhProof *proof;
	int			fd;

	plh_proof_name_make(path, sizeof(path), directory, pid);
	fd = OpenTransientFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | PG_BINARY);
	if (fd < 0)
		return NULL;
	proof = read_all(fd);
	CloseTransientFile(fd);
	return proof != NULL && proof->pid == pid && proof->process_start == process_start ?
		proof : NULL;
}

void
plh_proof_file_attach(const char *directory, PlhProfileImage *image)
{
	image->proof = plh_proof_file_read(directory, image->header->pid,
									   image->header->process_start);
}
