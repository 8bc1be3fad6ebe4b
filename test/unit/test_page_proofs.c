/*
 * test_page_proofs.c
 *	  What a page says of a proof: kinds of chunks, and who holds them, in figures that add up.
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "backend.h"
#include "page/page_proof.h"
#include "reader/redaction.h"
#include "reader_tests.h"
#include "sound_profile.h"
#include "sound_proof.h"

#define SITES 20
#define SEED 5

static char *
json_of(const PlhProfileImage *image)
{
	StringInfoData json;

	initStringInfo(&json);
	plh_page_proof_append(&json, image);
	return json.data;
}

/* Does the JSON have that text? */
static bool
has(const char *json, const char *text)
{
	if (strstr(json, text) != NULL)
		return true;
	printf("# %s\n", json);
	return false;
}

static void
test_kinds(const PlhProfileImage *image)
{
	const char *json = json_of(image);

	ok(has(json, "\"bytes\":2000000,\"lost_chunks\":7812,\"lost_bytes\":500000,\"resettable_bytes\":125000"),
	   "the page has the sums of a proof");
	ok(has(json, "\"kinds\":[[\"sessions\",\"session\",\"64 bytes, text\",\"secret\",15625,1000000,7812,500000,125000],"
		   "[\"sessions\",\"session\",\"64 bytes, text\",\"secret\",15625,1000000,0,0,0]]"),
	   "the page has the kinds of chunks, and no call sites");
	ok(has(json, "\"holdings\":[[0,1,500000],[1,1,250000],[1,0,250000]],"
		   "\"holders\":[\"the variable sessions of shop.so\",\"the stack\"]"),
	   "the page has what each holder holds of each kind");
}

void
test_page_proofs(void)
{
	PlhProfileHeader *header = make_profile(SITES, SEED);
	PlhProfileImage image = {0};
	PlhProof   *proof;

	plh_profile_image_adopt(&image, header, header->used_bytes);
	ok(strcmp(json_of(&image), "null") == 0, "without a proof the page says nothing of it");
	proof = make_proof(&image);
	image.proof = proof;
	test_kinds(&image);
	plh_redaction_begin(true);
	ok(strstr(json_of(&image), "secret") == NULL, "a redacted page has no content of chunks");
	plh_redaction_end();
	proof->outcome = PLH_PROOF_NO_TIME;
	ok(strcmp(json_of(&image), "null") == 0, "of what could not be proven the page says nothing");
	free(proof);
	free(header);
	forget_memory();
}
