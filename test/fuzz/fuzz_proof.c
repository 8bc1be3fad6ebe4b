/*
 * fuzz_proof.c
 *	  The file of a proof with anything in it, beside the profile of a process that is sound.
 *
 * An input is a file.  Unless its magic ends with UNCHANGED, magic, process and the number of texts
 * are made those that a reader accepts.
 */
#include "postgres.h"

#include <unistd.h>

#include "lib/stringinfo.h"

#include "base/limits.h"
#include "fuzz.h"
#include "page/page_proof.h"
#include "profile/last_proof.h"
#include "profile/proof_name.h"
#include "reader/proof_file.h"
#include "sound_profile.h"

#define SITES 5
#define SEED 11
#define UNCHANGED 'u'

static PlhProfileImage image;

static void
make_acceptable(PlhProof *proof, Size bytes)
{
	char	   *mark = &proof->magic[sizeof(proof->magic) - 1];
	Size		before;

	if (bytes < offsetof(PlhProof, groups) || *mark == UNCHANGED)
		return;
	memcpy(proof->magic, PLH_PROOF_MAGIC, sizeof(PLH_PROOF_MAGIC));
	proof->pid = image.header->pid;
	proof->process_start = image.header->process_start;
	proof->text_bytes = 0;
	before = plh_proof_image_bytes(proof);
	if (before >= bytes)
		return;
	proof->text_bytes = bytes - before;
	((char *) proof)[bytes - 1] = '\0';
}

/* All texts end in the file, whatever their offsets are. */
static Size
read_texts(const PlhProof *proof)
{
	const PlhProofHolding *holdings = plh_proof_image_holdings(proof);
	Size		length = strlen(plh_proof_image_text(proof, PG_UINT32_MAX));

	for (uint32 i = 0; i < proof->group_count; i++)
	{
		length += strlen(plh_proof_image_text(proof, proof->groups[i].context_name));
		length += strlen(plh_proof_image_text(proof, proof->groups[i].what));
		length += strlen(plh_proof_image_text(proof, proof->groups[i].what_of_user));
		length += strlen(plh_proof_image_text(proof, proof->groups[i].path));
	}
	for (uint32 i = 0; i < proof->holding_count; i++)
		length += strlen(plh_proof_image_text(proof, holdings[i].holder));
	return length;
}

/* What is lost of each site is no more than the proof says of all. */
static void
look_up(void)
{
	const PlhSiteRecord *site;
	uint32		position = 0;

	while ((site = plh_profile_image_next_site(&image, &position)) != NULL)
	{
		const PlhProofGroup *group = plh_proof_image_of_site(&image, site);

		HOLDS(group == NULL || group->lost_bytes <= group->bytes);
	}
}

static void
use_proof(void *arg)
{
	PlhProof	head;
	StringInfoData json;

	plh_proof_file_attach(fuzz_directory(), &image);
	if (image.proof == NULL)
		return;
	fuzz_accepted++;
	HOLDS(plh_last_proof_peek(&head, image.header) == (image.proof->outcome == PLH_PROOF_PROVEN));
	HOLDS(read_texts(image.proof) < PG_INT32_MAX);
	look_up();
	initStringInfo(&json);
	plh_page_proof_append(&json, &image);
	HOLDS(json.data[0] == '{' || strcmp(json.data, "null") == 0);
}

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t bytes)
{
	PlhProof   *file = malloc(Max(bytes, sizeof(PlhProof)));
	char		path[PLH_PATH_MAX];

	if (image.header == NULL)
	{
		PlhProfileHeader *header = make_profile(SITES, SEED);

		plh_profile_image_adopt(&image, header, header->used_bytes);
		plh_last_proof_start(fuzz_directory());
	}
	image.proof = NULL;
	memcpy(file, data, bytes);
	make_acceptable(file, bytes);
	plh_proof_name_make(path, sizeof(path), fuzz_directory(), image.header->pid);
	fuzz_write_file(path, file, bytes);
	free(file);
	HOLDS(fuzz_run(bytes, use_proof, NULL) == 0);
	unlink(path);
	return 0;
}
