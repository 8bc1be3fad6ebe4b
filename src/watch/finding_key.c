/*
 * finding_key.c
 *	  By what it is known that a finding was seen before.
 *
 * Offsets of records are of no use: a record that is given up leaves its place to another one.
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
plh_finding_key(const PlhFinding *finding, const PlhProfileImage *image)
{
	uint64		seed = plh_finding_subject(finding) + 1;
	const PlhFamilyAccount *family = plh_finding_family(finding);

	if (finding->kind == PLH_KIND_STATEMENT)
		return hash_statement(image, finding->site, seed);
	if (family != NULL && family->family != NULL)
		return hash(family->family->title, strlen(family->family->title), seed);
	if (finding->context != NULL)
		return hash_name(image, finding->context->context_name, seed);
	if (finding->site != NULL)
		return hash_site(image, finding->site, seed);
	return hash(&finding->kind, sizeof(finding->kind), seed);
}
