/*
 * sound_proof.c
 *	  A proof as a child writes it, of a profile of the tests, and its file.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/whole_io.h"
#include "profile/last_proof.h"
#include "profile/proof_name.h"
#include "sound_proof.h"

#define KIND_BYTES 1000000

/* The texts of each such proof, and where they begin. */
static const char texts[] = "\0sessions\0" "64 bytes, text\0the variable sessions of shop.so\0the stack\0the stack -> 64 bytes in \"sessions\"\0secret";

#define NAME 1
#define WHAT (NAME + sizeof("sessions"))
#define VARIABLE (WHAT + sizeof("64 bytes, text"))
#define STACK (VARIABLE + sizeof("the variable sessions of shop.so"))
#define PATH (STACK + sizeof("the stack"))
#define CONTENT (PATH + sizeof("the stack -> 64 bytes in \"sessions\""))

static char directory[PLH_PATH_MAX];
static int	pid;

static void
add_site(PlhProof *proof, const PlhProfileImage *image, const PlhSiteRecord *site)
{
	int64		bytes = Max(site->counters.live_bytes, 0);

	proof->site_count++;
	proof->groups[proof->group_count++] = (PlhProofGroup)
	{
		.site = plh_profile_image_offset(image, site),.born = site->record.born,
			.lifetime = site->key.lifetime,.holder = VARIABLE,.path = VARIABLE,
			.chunks = site->counters.live_count,.bytes = bytes,
			.lost_chunks = site->counters.live_count / 2,.lost_bytes = bytes / 2,
			.samples = site->counters.live_samples,.lost_samples = site->counters.live_samples / 2,
			.lost_variance = 1.0,.holder_bytes = bytes - bytes / 2
	};
}

static void
add_kind(PlhProof *proof, int64 lost_bytes)
{
	PlhProofGroup *group = &proof->groups[proof->group_count++];

	group->context_name = NAME;
	group->what = WHAT;
	group->what_of_user = CONTENT;
	group->holder = STACK;
	group->path = PATH;

	group->chunks = KIND_BYTES / 64;
	group->bytes = KIND_BYTES;
	group->lost_chunks = lost_bytes / 64;
	group->lost_bytes = lost_bytes;
	group->resettable_bytes = lost_bytes / 4;
	group->holder_bytes = (KIND_BYTES - lost_bytes) / 2;
	proof->chunks += KIND_BYTES / 64;
	proof->bytes += KIND_BYTES;
	proof->lost_chunks += lost_bytes / 64;
	proof->lost_bytes += lost_bytes;
	proof->resettable_bytes += lost_bytes / 4;
}

PlhProof *
make_proof(const PlhProfileImage *image)
{
	PlhProof   *proof = calloc(1, PLH_PROOF_MOST_BYTES);
	const PlhSiteRecord *site;
	uint32		position = 0;
	PlhProofHolding *holdings;

	memcpy(proof->magic, PLH_PROOF_MAGIC, sizeof(PLH_PROOF_MAGIC));
	proof->pid = image->header->pid;
	proof->process_start = image->header->process_start;
	proof->at = 4000000;
	proof->contexts = 7;
	while ((site = plh_profile_image_next_site(image, &position)) != NULL)
		add_site(proof, image, site);
	add_kind(proof, KIND_BYTES / 2);
	add_kind(proof, 0);
	holdings = (PlhProofHolding *) plh_proof_image_holdings(proof);
	holdings[0] = (PlhProofHolding)
	{
		VARIABLE, proof->group_count - 1, KIND_BYTES / 2
	};
	holdings[1] = (PlhProofHolding)
	{
		STACK, proof->group_count - 1, KIND_BYTES / 4
	};
	holdings[2] = (PlhProofHolding)
	{
		STACK, proof->group_count - 2, KIND_BYTES / 4
	};
	proof->holding_count = 3;
	memcpy(&holdings[3], texts, sizeof(texts));
	proof->text_bytes = sizeof(texts);
	return proof;
}

void
write_proof(const PlhProof *proof)
{
	char		path[PLH_PATH_MAX];
	int			fd;

	strlcpy(directory, "/tmp/plh_proof.XXXXXX", sizeof(directory));
	if (mkdtemp(directory) == NULL)
		abort();
	pid = proof->pid;
	plh_proof_name_make(path, sizeof(path), directory, pid);
	fd = open(path, O_WRONLY | O_CREAT, S_IRUSR);
	if (fd < 0 || !plh_whole_io_write(fd, proof, plh_proof_image_bytes(proof), 0))
		abort();
	close(fd);
	plh_last_proof_start(directory);
}

void
remove_proof(void)
{
	plh_last_proof_start(NULL);
	plh_proof_name_unlink(directory, pid);
	rmdir(directory);
}
