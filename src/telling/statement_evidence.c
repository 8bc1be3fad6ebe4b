/*
 * statement_evidence.c
 *	  What a statement or transaction holds, where, and what limits it, in a few
 *	  sentences.
 */
#include "postgres.h"

#include "judge/unwritten.h"
#include "report/words.h"
#include "telling/share_text.h"
#include "telling/statement_evidence.h"

/* What was not counted is told apart where it has this part of all, at least. */
#define ESTIMATED_PART 100

/* What is told beside the main part of a statement has this part of all, at least. */
#define REST_PART 4

/* Does it have nodes with a limit that hold much of it? */
static bool
is_of_nodes(const PlhSuspectFacts *facts)
{
	return facts->nodes > 0 && facts->node_bytes >= facts->live_bytes / 8;
}

/* What the nodes of a plan hold that have a limit. */
static const char *
nodes_text(const PlhSuspectFacts *facts)
{
	const char *is = facts->is_alive ? "is" : "was";

	if (facts->nodes == 1)
		return psprintf(" %s of it %s in one hash table or sort.",
						plh_words_size(facts->node_bytes), is);
	return psprintf(" %s of it %s in " INT64_FORMAT " hash tables and sorts, %s each on average.",
					plh_words_size(facts->node_bytes), is, facts->nodes,
					plh_words_size(facts->node_bytes / facts->nodes));
}

/* Of the nodes with a limit, the family that holds most; NULL where none was counted. */
static const PlhFamily *
largest_nodes(const PlhAccount *account)
{
	for (int i = 0; account != NULL && i < account->family_count; i++)
	{
		const PlhFamilyAccount *family = &account->families[i];

		if (!family->lasting && family->family != NULL &&
			family->family->kind == PLH_FAMILY_NODES)
			return family->family;
	}
	return NULL;
}

/* What limits sorts; profiles of earlier versions don't have work_mem by itself. */
static const char *
sorts_text(const PlhProfileHeader *header, bool alive)
{
	if (header->sort_memory_bytes <= 0)
		return psprintf("work_mem %s each sort.", alive ? "limits" : "limited");
	return psprintf("work_mem %s %s for each sort.", alive ? "allows" : "allowed",
					plh_words_size(header->sort_memory_bytes));
}

/*
 * What limits what is in contexts of a family, as a sentence.  What is not in nodes of a
 * plan has the limit of one, as nothing else is known of it.
 */
const char *
plh_statement_evidence_limit(const PlhProfileImage *image, const PlhFamily *family,
							 int64 limit_bytes)
{
	const char *size = plh_words_size(limit_bytes);

	if (limit_bytes != image->header->node_memory_bytes)
		return psprintf("Its settings, such as maintenance_work_mem, %s %s.",
						image->alive ? "allow" : "allowed", size);
	if (family != NULL && family == plh_family_of("TupleSort main"))
		return sorts_text(image->header, image->alive);
	return psprintf("work_mem and hash_mem_multiplier %s %s for %s.",
					image->alive ? "allow" : "allowed", size,
					family != NULL && family->kind == PLH_FAMILY_NODES ?
					"each hash table" : "a hash table of its plan");
}

/* Is it told with that family?  Nodes of all kinds are told together. */
static bool
is_told(const PlhFamily *family, const PlhFamily *told)
{
	return family == told || (told != NULL && family->kind == PLH_FAMILY_NODES &&
							  told->kind == PLH_FAMILY_NODES);
}

/*
 * What else than contexts of that family a statement holds, where that is much of what
 * was counted; "" where it is not.  Without a family, what it holds most in.
 */
const char *
plh_statement_evidence_rest(const PlhAccount *account, const PlhFamily *told, bool alive)
{
	for (int i = 0; account != NULL && i < account->family_count; i++)
	{
		const PlhFamilyAccount *family = &account->families[i];

		if (family->lasting || family->family == NULL || is_told(family->family, told))
			continue;
		if (family->bytes < account->passing_bytes / REST_PART)
			break;
		return psprintf(told == NULL ? " %s of it %s held for %s. %s" :
						" Besides, %s %s held for %s. %s",
						plh_words_size(family->bytes), alive ? "is" : "was",
						family->family->title, family->family->what);
	}
	return "";
}

/* What limits what a statement holds; "" where nothing does that is known. */
static const char *
limit_text(const PlhSuspect *suspect, const PlhAccount *account,
		   const PlhProfileImage *image, bool is_named)
{
	const PlhSuspectFacts *facts = &suspect->facts;
	const PlhAccount *counted = facts->counted_bytes > 0 ? account : NULL;

	if (suspect->part != NULL)
		return psprintf(" %s of it %s for %s. %s %s%s",
						plh_words_size(Min(suspect->part->bytes, facts->live_bytes)),
						facts->is_alive ? "is" : "was",
						suspect->part->family->title,
						suspect->part->family->what,
						suspect->part->family->bound,
						plh_statement_evidence_rest(counted, suspect->part->family,
													facts->is_alive));
	if (is_of_nodes(facts))
		return psprintf("%s %s%s", nodes_text(facts),
						plh_statement_evidence_limit(image, largest_nodes(account),
													 facts->limit_bytes),
						plh_statement_evidence_rest(counted, largest_nodes(account),
													facts->is_alive));
	return psprintf("%s%s%s", is_named ? "" :
					plh_statement_evidence_rest(counted, NULL, facts->is_alive),
					facts->limit_bytes == image->header->node_memory_bytes ? "" : " ",
					facts->limit_bytes == image->header->node_memory_bytes ? "" :
					plh_statement_evidence_limit(image, NULL, facts->limit_bytes));
}

/* What ends memory of that lifetime by itself. */
const char *
plh_statement_evidence_span(uint32 lifetime)
{
	switch (lifetime)
	{
		case PLH_LIFETIME_STATEMENT:
		case PLH_LIFETIME_QUERY:
			return "statement";
		case PLH_LIFETIME_TRANSACTION:
			return "transaction";
		default:
			return "statement or transaction";
	}
}

/* What ends what a suspect's sites hold, if that is the same for nearly all of it. */
static const char *
span_of(const PlhSuspect *suspect)
{
	const char *span = NULL;
	int64		bytes = 0;
	int64		others = 0;

	for (int i = 0; i < suspect->share_count; i++)
	{
		const PlhShare *share = &suspect->shares[i];
		const char *name = plh_statement_evidence_span(share->site->key.lifetime);

		if (span == NULL)
			span = name;
		if (strcmp(name, span) == 0)
			bytes += share->bytes;
		else
			others += share->bytes;
	}
	if (span == NULL || others >= bytes / 20)
		return "statement or transaction";
	return span;
}

/* When the memory is freed; a portal of a cursor lasts longer than its statement. */
static const char *
end_text(const char *span)
{
	if (strcmp(span, "transaction") == 0)
		return " The memory is freed at COMMIT or ROLLBACK at the latest.";
	if (strcmp(span, "statement") == 0)
		return " The memory is freed when the statement ends, or its cursor is closed.";
	return " The memory is freed when it ends.";
}

/*
 * How the total comes about, so that it can be compared with what was counted; "" where
 * that is all of it.
 */
static const char *
estimated_text(const PlhSuspectFacts *facts)
{
	if (facts->counted_bytes <= 0 ||
		facts->live_bytes - facts->counted_bytes < facts->live_bytes / ESTIMATED_PART)
		return "";
	return psprintf(" %s of that was counted, and samples show the rest, which came later.",
					plh_words_size(facts->counted_bytes));
}

/*
 * The sentences, in the current memory context.
 */
char *
plh_statement_evidence(const PlhSuspect *suspect, const PlhAccount *account,
					   const PlhProfileImage *image, PlhStackTexts *texts)
{
	const PlhSuspectFacts *facts = &suspect->facts;
	const char *part = plh_unwritten_part(facts, image->header);
	const char *span = span_of(suspect);

	return psprintf("The %s %s %s %s%s.%s%s%s%s",
					facts->is_alive ? "running" : "last", span,
					part != NULL ? (facts->is_alive ? "has allocated" : "had allocated") :
					facts->is_alive ? "holds" : "held",
					plh_words_estimate(facts->live_bytes, suspect->judgement.error_bytes),
					part == NULL ? "" :
					psprintf(", %s of which had not been written to at the last count", part),
					estimated_text(facts),
					plh_share_text(suspect, image, texts),
					limit_text(suspect, account, image,
							   texts == NULL || plh_share_text_names_site(suspect, image, texts)),
					facts->is_alive ? end_text(span) : "");
}
