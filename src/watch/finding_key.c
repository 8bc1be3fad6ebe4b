/*
 * finding_key.c
 *	  By what it is known that a finding was seen before.
 *
 * Offsets of records are of no use: a record that is given up leaves its place to
 * another one.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "watch/finding_key.h"

static uint64
hash(const void *bytes, Size length, uint64 seed)
{
	return hash_bytes_extended(bytes, (int) length, seed);
}

/* The name of contexts. */
static uint64
hash_name(const PlhProfileImage *image, uint32 name_offset, uint64 seed)
{
	const PlhStringRecord *name = plh_profile_image_string(image, name_offset);

	return name == NULL ? seed : hash(name->text, name->text_bytes, seed);
}

/* A call site: its stack and its contexts. */
static uint64
hash_site(const PlhProfileImage *image, const PlhSiteRecord *site, uint64 seed)
{
	const PlhStackRecord *stack = plh_profile_image_stack(image, site->key.stack);

	if (stack != NULL)
		seed = hash(stack->frames, stack->depth * sizeof(PlhFrame), seed);
	return hash_name(image, site->key.context_name, seed);
}

/* The text of a statement, which is as it is kept: without its constants. */
static uint64
hash_statement(const PlhProfileImage *image, const PlhSiteRecord *site, uint64 seed)
{
	const PlhStatementRecord *statement = site == NULL ? NULL :
		plh_profile_image_statement(image, site->key.statement);

	return statement == NULL ? seed : hash(statement->text, statement->text_bytes, seed);
}

uint64
plh_finding_key(const PlhSuspect *suspect, const PlhProfileImage *image)
{
	uint64		seed = suspect->facts.subject + 1;

	if (suspect->facts.subject == PLH_SUBJECT_STATEMENT)
		return hash_statement(image, suspect->site, seed);
	if (suspect->family != NULL && suspect->family->family != NULL)
		return hash(suspect->family->family->title, strlen(suspect->family->family->title), seed);
	if (suspect->context != NULL)
		return hash_name(image, suspect->context->context_name, seed);
	if (suspect->site != NULL)
		return hash_site(image, suspect->site, seed);
	return hash(&suspect->judgement.verdict, sizeof(suspect->judgement.verdict), seed);
}
