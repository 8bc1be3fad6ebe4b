/*
 * sql_proof.c
 *	  The function of SQL that proves what of a process' memory is lost, and who holds the rest; and
 *	  shows the proof that a dump has.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "base/compat.h"
#include "base/size_units.h"
#include "functions/sql_access.h"
#include "functions/sql_prove.h"
#include "functions/sql_rows.h"
#include "functions/sql_source.h"
#include "process/process.h"
#include "profile/profile_image.h"
#include "profile/site_facts.h"
#include "reader/database_text.h"
#include "reader/redaction.h"
#include "reader/server_processes.h"
#include "report/listed_site.h"

PLH_FUNCTION(pg_leakhunt_proof);

/* The call site of a row. */
typedef struct ProvenSite
{
	bool		described;
	PlhListedSite listed;
} ProvenSite;

static const char *
text_of(const PlhProof *proof, uint32 text, int encoding)
{
	return plh_sql_rows_foreign(plh_proof_image_text(proof, text), encoding);
}

/* What users have written; NULL where it is not to be shown. */
static const char *
content_of(const PlhProof *proof, const PlhProofGroup *group, int encoding)
{
	const char *text = plh_redaction_content(plh_proof_image_text(proof, group->what_of_user));

	return text == NULL ? NULL : plh_sql_rows_foreign(text, encoding);
}

static void
put_group(const PlhProof *proof, const PlhProofGroup *group, const PlhProfileImage *image,
		  const ProvenSite *site, PlhRowSink *sink)
{
	int			encoding = image->header->encoding;
	PlhRow		row = {0};

#include "functions/columns/proof.def"
	plh_sql_rows_finish(&row, sink);
}

/* Describe the call site of a group, if it is still there. */
static void
describe(const PlhProofGroup *group, const PlhProfileImage *image, PlhStackTexts *texts,
		 ProvenSite *site)
{
	const PlhSiteRecord *record = plh_profile_image_site(image, group->site);
	PlhSiteFacts facts;

	if (record == NULL || record->record.born != group->born)
		return;
	plh_site_facts_resolve(&facts, image, record, NULL);
	plh_listed_site_start(&site->listed, image, &facts);
	plh_listed_site_describe_stack(&site->listed, texts);
	site->described = true;
}

/* The largest loss first, then the largest. */
static int
compare_losses(const void *a, const void *b)
{
	const PlhProofGroup *left = *(const PlhProofGroup *const *) a;
	const PlhProofGroup *right = *(const PlhProofGroup *const *) b;

	if (left->lost_bytes != right->lost_bytes)
		return left->lost_bytes > right->lost_bytes ? -1 : 1;
	return left->bytes == right->bytes ? 0 : left->bytes > right->bytes ? -1 : 1;
}

static void
put_proof(const PlhProof *proof, const PlhProfileImage *image, PlhRowSink *sink)
{
	PlhStackTexts *texts = plh_stack_text_open(plh_sql_rows_symbols(sink), image);
	const PlhProofGroup **groups = palloc(sizeof(*groups) * Max(proof->group_count, 1));

	for (uint32 i = 0; i < proof->group_count; i++)
		groups[i] = &proof->groups[i];
	qsort(groups, proof->group_count, sizeof(*groups), compare_losses);
	for (uint32 i = 0; i < proof->group_count; i++)
	{
		const PlhProofGroup *group = groups[i];
		ProvenSite	site = {0};

		CHECK_FOR_INTERRUPTS();
		if (group->site != 0)
			describe(group, image, texts, &site);
		put_group(proof, group, image, &site, sink);
	}
}

/* What it took, what was not looked at, and what is not shown. */
static void
tell_rest(const PlhProof *proof)
{
	/* for bench/proof */
	ereport(DEBUG1, (errmsg_internal("proof: stopped %lld us, child %lld us, %lld bytes for %lld private ones, %lld in chunks",
									 (long long) proof->fork_us, (long long) proof->child_us,
									 (long long) proof->child_bytes,
									 (long long) proof->private_bytes,
									 (long long) proof->bytes)));
	if (proof->closed_contexts > 0)
		ereport(NOTICE, (errmsg("%lld of %lld memory contexts could not be read",
								(long long) proof->closed_contexts,
								(long long) (proof->closed_contexts + proof->contexts)),
						 errdetail("They have %s, in which all counts as held: it does not look as it should in this version of PostgreSQL.",
								   plh_size_units(proof->closed_bytes).text)));
	if (proof->left_out_groups > 0)
		ereport(NOTICE, (errmsg("the %lld smallest rows are left out",
								(long long) proof->left_out_groups)));
}

/* A process is proven now; NULL, after a WARNING, where it could not be. */
static const PlhProof *
prove_process(PlhSourceProfile *profile, const PlhTarget *target, const PlhBegunProof *begun)
{
	const PlhProof *proof = plh_sql_prove(profile->image, begun);

	/* of the moment of the proof, or just after it */
	return proof != NULL && plh_sql_source_profile(profile, target) ? proof : NULL;
}

/* What a dump has of it; NULL, after a WARNING, where it has nothing that was proven. */
static const PlhProof *
proof_of_dump(const PlhProfileImage *image)
{
	if (image->proof != NULL && image->proof->outcome == PLH_PROOF_PROVEN)
		return image->proof;
	ereport(WARNING, (errmsg("dump file \"%s\" has no proof", image->path),
					  errdetail("A dump has the last proof of its process, and nothing of this one was proven.")));
	return NULL;
}

/* Say why malloc's blocks are not among the rows; what was not looked at is no loss. */
static void
tell_malloc(const PlhProof *proof)
{
	static const char *const reasons[PLH_PROOF_MALLOCS] = {
		[PLH_PROOF_MALLOC_UNKNOWN] = "The memory of malloc is not laid out as expected.",
		[PLH_PROOF_MALLOC_THREADS] = "The process has more than one thread, and another one may use a block that no memory points to.",
		[PLH_PROOF_MALLOC_OTHER] = "The process has an allocator other than that of glibc."
	};

	if (proof->malloc < PLH_PROOF_MALLOCS && reasons[proof->malloc] != NULL)
		ereport(NOTICE,
				(errmsg("blocks of malloc in process %d all count as held", proof->pid),
				 errdetail_internal("%s", reasons[proof->malloc])));
}

static Datum
show_proof(FunctionCallInfo fcinfo)
{
	PlhTarget	target = plh_sql_source_target(fcinfo, 2);
	PlhRowSink	sink;
	PlhSourceProfile profile;
	PlhBegunProof begun = {0};
	const PlhProof *proof;

	plh_sql_rows_start(fcinfo, &sink);
	if (target.pid > 0 && plh_process_refusal() == NULL &&
		!plh_sql_prove_introduce(target.pid, &begun))
		return (Datum) 0;
	if (!plh_sql_source_profile(&profile, &target))
		return (Datum) 0;
	proof = profile.dump != NULL ? proof_of_dump(profile.image) :
		prove_process(&profile, &target, &begun);
	if (proof == NULL)
		return (Datum) 0;
	put_proof(proof, profile.image, &sink);
	tell_rest(proof);
	tell_malloc(proof);
	return (Datum) 0;
}

/*
 * pg_leakhunt_proof(target, redact): the rows of a proof that is made now, or of the one that a
 * dump has.
 */
Datum
pg_leakhunt_proof(PG_FUNCTION_ARGS)
{
	return plh_sql_rows_redacted(fcinfo, show_proof);
}
