/*
 * page_proof.c
 *	  What the page of a process says of its last proof: what is lost, and who holds the rest.
 *
 * Only kinds of chunks are told, which are counted: call sites are of the same memory, and the page
 * has them elsewhere.  What the lists lack is what they do not add up to.
 */
#include "postgres.h"

#include "page/page_proof.h"
#include "profile/proof_image.h"
#include "reader/database_text.h"
#include "reader/redaction.h"
#include "report/json.h"

/* The most kinds that are told for what is lost of them. */
#define MOST_LOST 500

/* What is told of a proof, and under which numbers. */
typedef struct Telling
{
	StringInfo	json;
	const PlhProfileImage *image;
	const PlhProof *proof;
	bool	   *is_told;		/* of each group */
	uint32	   *rows;			/* of each group that is told */
	uint32		holders[PLH_PROOF_HOLDINGS];	/* texts */
	uint32		holder_count;
} Telling;

/* No text, or an empty one, is null. */
static void
append_text(const Telling *telling, const char *text)
{
	plh_json_text(telling->json, text == NULL || text[0] == '\0' ? NULL :
				  plh_database_text_fit_foreign(text, strlen(text),
												telling->image->header->encoding));
}

static void
append_text_at(const Telling *telling, uint32 offset)
{
	append_text(telling, plh_proof_image_text(telling->proof, offset));
}

/* What users have written is left out of what goes out. */
static void
append_content(const Telling *telling, uint32 offset)
{
	append_text(telling, plh_redaction_content(plh_proof_image_text(telling->proof, offset)));
}

/* Those of which something is lost, which come first, and those that holdings are of. */
static void
choose_kinds(Telling *telling)
{
	const PlhProof *proof = telling->proof;
	const		PlhProofHolding *holdings = plh_proof_image_holdings(proof);
	int			lost = 0;

	for (uint32 i = 0; i < proof->group_count && lost < MOST_LOST; i++)
	{
		telling->is_told[i] = proof->groups[i].site == 0 && proof->groups[i].lost_bytes > 0;
		lost += telling->is_told[i];
	}
	for (uint32 i = 0; i < proof->holding_count; i++)
		telling->is_told[holdings[i].group] = true;
}

static void
append_kinds(Telling *telling)
{
	uint32		row = 0;

	plh_json_put_open(telling->json, "kinds", '[');
	for (uint32 i = 0; i < telling->proof->group_count; i++)
	{
		const PlhProofGroup *group = &telling->proof->groups[i];

		if (!telling->is_told[i])
			continue;
		telling->rows[i] = row++;
		plh_json_open(telling->json, '[');
		append_text_at(telling, group->context_name);
		plh_json_text(telling->json, plh_profile_image_lifetime_name(group->lifetime));
		append_text_at(telling, group->what);
		append_content(telling, group->what_of_user);
		plh_json_number(telling->json, group->chunks);
		plh_json_number(telling->json, group->bytes);
		plh_json_number(telling->json, group->lost_chunks);
		plh_json_number(telling->json, group->lost_bytes);
		plh_json_number(telling->json, group->resettable_bytes);
		plh_json_close(telling->json, ']');
	}
	plh_json_close(telling->json, ']');
}

/* The number of a holder; those of one text are one. */
static uint32
number_of(Telling *telling, uint32 holder)
{
	for (uint32 i = 0; i < telling->holder_count; i++)
		if (telling->holders[i] == holder)
			return i;
	telling->holders[telling->holder_count] = holder;
	return telling->holder_count++;
}

static void
append_holdings(Telling *telling)
{
	const		PlhProofHolding *holdings = plh_proof_image_holdings(telling->proof);

	plh_json_put_open(telling->json, "holdings", '[');
	for (uint32 i = 0; i < telling->proof->holding_count; i++)
	{
		plh_json_open(telling->json, '[');
		plh_json_number(telling->json, number_of(telling, holdings[i].holder));
		plh_json_number(telling->json, telling->rows[holdings[i].group]);
		plh_json_number(telling->json, holdings[i].bytes);
		plh_json_close(telling->json, ']');
	}
	plh_json_close(telling->json, ']');
	plh_json_put_open(telling->json, "holders", '[');
	for (uint32 i = 0; i < telling->holder_count; i++)
		append_text_at(telling, telling->holders[i]);
	plh_json_close(telling->json, ']');
}

static void
append_sums(StringInfo json, const PlhProof *proof)
{
	plh_json_put_time(json, "at", proof->at);
	plh_json_put_number(json, "contexts", proof->contexts);
	plh_json_put_number(json, "chunks", proof->chunks);
	plh_json_put_number(json, "bytes", proof->bytes);
	plh_json_put_number(json, "lost_chunks", proof->lost_chunks);
	plh_json_put_number(json, "lost_bytes", proof->lost_bytes);
	plh_json_put_number(json, "resettable_bytes", proof->resettable_bytes);
	plh_json_put_number(json, "closed_contexts", proof->closed_contexts);
	plh_json_put_number(json, "closed_bytes", proof->closed_bytes);
}

void
plh_page_proof_append(StringInfo json, const PlhProfileImage *image)
{
	const PlhProof *proof = image->proof;
	Telling    *telling;

	if (proof == NULL || proof->outcome != PLH_PROOF_PROVEN)
	{
		plh_json_text(json, NULL);
		return;
	}
	telling = palloc0(sizeof(Telling));
	telling->json = json;
	telling->image = image;
	telling->proof = proof;
	telling->is_told = palloc0(proof->group_count * sizeof(bool));
	telling->rows = palloc0(proof->group_count * sizeof(uint32));
	choose_kinds(telling);
	plh_json_open(json, '{');
	append_sums(json, proof);
	append_kinds(telling);
	append_holdings(telling);
	plh_json_close(json, '}');
}
