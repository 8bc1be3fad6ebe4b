/*
 * look_findings.c
 *	  What is said of a process that was looked at, beside its statistics of memory contexts.
 */
#include "postgres.h"

#include "base/process_facts.h"
#include "look/look_findings.h"
#include "profile/proof_image.h"
#include "reader/database_text.h"
#include "reader/redaction.h"
#include "report/json.h"
#include "report/words.h"

/* The most kinds of chunks, and the most holders, that are listed. */
#define LISTED 10

/* The same for programs. */
#define MOST_PUT 1000

/* Behind the first one, those are told that have this part of all. */
#define LISTED_PART 50

#define STATUS_BYTES 8192

/* A holder, with all that it holds. */
typedef struct Holder
{
	uint32		text;
	int64		bytes;
} Holder;

/* The figure behind a name in a status, which is in kB; -1: it is not there. */
static int64
figure_of(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	return at == NULL ? -1 : strtoll(at + strlen(name), NULL, 10) * 1024;
}

PlhLookFacts
plh_look_findings_ask(int pid)
{
	char		status[STATUS_BYTES];

	if (!plh_process_facts_read(psprintf("/proc/%d/status", pid), status, sizeof(status)))
		status[0] = '\0';
	return (PlhLookFacts)
	{
		.private_bytes = figure_of(status, "\nRssAnon:"),
			.shared_bytes = figure_of(status, "\nRssShmem:"),
			.swapped_bytes = figure_of(status, "\nVmSwap:"),
			.page_table_bytes = figure_of(status, "\nVmPTE:")
	};
}

static const char *
text_of(const PlhProof *proof, uint32 offset)
{
	return plh_database_text_fit(plh_proof_image_text(proof, offset));
}

/* What the kernel has for the process. */
static void
say_facts(PlhSaid *said, const PlhLookFacts *facts)
{
	const PlhFields fields = {
		.bytes = plh_words_size(facts->private_bytes),
		.total = plh_words_size(facts->page_table_bytes),
		.outside = plh_words_size(facts->shared_bytes),
		.freed = plh_words_size(facts->swapped_bytes)
	};

	if (facts->private_bytes < 0)
		return;
	plh_sentences_line(said, PLH_SAYS_look_private, true, &fields);
	if (facts->swapped_bytes > 0)
		plh_sentences_say(said, PLH_SAYS_look_swapped, true, &fields);
}

static void
say_malloc(PlhSaid *said, const PlhLookHeap *heap)
{
	switch (heap->malloc)
	{
		case PLH_PROOF_MALLOC_PROVEN:
			PLH_LINE(said, true, look_malloc,.bytes = plh_words_size(heap->malloc_bytes));
			break;
		case PLH_PROOF_MALLOC_THREADS:
			if (heap->copy.threads > 0)
				PLH_LINE(said, true, look_malloc_threads,.count = heap->copy.threads);
			break;
		default:
			PLH_LINE(said, true, look_malloc_unknown);
	}
}

/* How the copy was made, and what it is not good for. */
static void
say_copy(PlhSaid *said, const PlhLookHeap *heap)
{
	if (heap->copy.is_core)
		PLH_LINE(said, true, look_core);
	else if (heap->copy.threads == 0)
		PLH_LINE(said, true, look_torn);
	else
		PLH_LINE(said, true, look_stopped,
				 .span = psprintf("%.1f ms", heap->copy.stopped_us / 1000.0));
	if (heap->copy.unread_bytes > 0)
		PLH_LINE(said, true, look_unread,.bytes = plh_words_size(heap->copy.unread_bytes));
	if (heap->is_sampled)
		PLH_LINE(said, true, look_sampled,.pid = heap->copy.pid);
}

/* What of a kind is lost: for good, or until its context is reset. */
typedef struct Lost
{
	const PlhProofGroup *group;
	int64		chunks;
	int64		bytes;
} Lost;

#define ST_SORT sort_lost
#define ST_ELEMENT_TYPE Lost
#define ST_COMPARE(a, b) ((a)->bytes == (b)->bytes ? 0 : (a)->bytes > (b)->bytes ? -1 : 1)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* The kinds of which something is lost, the largest first. */
static Lost *
find_lost(const PlhProof *proof, bool for_good, uint32 *count)
{
	Lost	   *list = palloc((proof->group_count + 1) * sizeof(Lost));

	*count = 0;
	for (uint32 i = 0; i < proof->group_count; i++)
	{
		const PlhProofGroup *group = &proof->groups[i];
		Lost		lost = {group, group->resettable_chunks, group->resettable_bytes};

		if (for_good)
		{
			lost.chunks = group->lost_chunks - group->resettable_chunks;
			lost.bytes = group->lost_bytes - group->resettable_bytes;
		}
		if (lost.bytes > 0)
			list[(*count)++] = lost;
	}
	sort_lost(list, *count);
	return list;
}

/* The text of one of the chunks, which is data of users; NULL: none is shown. */
static const char *
content_of(const PlhProof *proof, const PlhProofGroup *group)
{
	const char *text = group->what_of_user == 0 ? NULL :
		plh_redaction_content(plh_proof_image_text(proof, group->what_of_user));

	return text == NULL || text[0] == '\0' ? NULL : plh_database_text_fit(text);
}

static void
say_kind(PlhSaid *said, const PlhProof *proof, const Lost *lost)
{
	const char *content = content_of(proof, lost->group);
	const PlhFields fields = {
		.bytes = plh_words_size(lost->bytes),
		.count = lost->chunks,
		.what = text_of(proof, lost->group->what),
		.context = text_of(proof, lost->group->context_name),
		.name = content != NULL ? content : ""
	};
	bool		is_context = strcmp(fields.what, PLH_PROOF_LOST_CONTEXT) == 0;

	plh_sentences_line(said, is_context ? PLH_SAYS_look_lost_context : PLH_SAYS_look_lost_kind,
					   true, &fields);
	if (content != NULL)
		plh_sentences_say(said, PLH_SAYS_look_content, true, &fields);
}

static void
say_lost_kinds(PlhSaid *said, const PlhProof *proof, bool for_good)
{
	uint32		count;
	Lost	   *list = find_lost(proof, for_good, &count);
	int64		all = for_good ? proof->lost_bytes - proof->resettable_bytes :
		proof->resettable_bytes;
	int64		rest = all;

	for (uint32 i = 0; i < Min(count, LISTED); i++)
	{
		if (i > 0 && list[i].bytes < all / LISTED_PART)
			break;
		say_kind(said, proof, &list[i]);
		rest -= list[i].bytes;
	}
	if (rest > 0)
		PLH_LINE(said, true, look_lost_rest,.bytes = plh_words_size(rest));
}

static void
say_lost(PlhSaid *said, const PlhProof *proof)
{
	const PlhFields fields = {
		.bytes = plh_words_size(proof->lost_bytes - proof->resettable_bytes),
		.freed = plh_words_size(proof->resettable_bytes),
		.total = plh_words_size(proof->bytes),
		.count = proof->chunks
	};

	if (proof->lost_bytes == 0)
		plh_sentences_line(said, PLH_SAYS_look_all_held, true, &fields);
	if (proof->lost_bytes > proof->resettable_bytes)
	{
		plh_sentences_line(said, PLH_SAYS_look_lost, true, &fields);
		say_lost_kinds(said, proof, true);
	}
	if (proof->resettable_bytes > 0)
	{
		plh_sentences_line(said, PLH_SAYS_look_loose, true, &fields);
		say_lost_kinds(said, proof, false);
	}
}

#define ST_SORT sort_holders
#define ST_ELEMENT_TYPE Holder
#define ST_COMPARE(a, b) ((a)->bytes == (b)->bytes ? 0 : (a)->bytes > (b)->bytes ? -1 : 1)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Several roots may be called the same, and each may hold chunks of several kinds. */
static Holder *
find_holders(const PlhProof *proof, uint32 *count)
{
	const		PlhProofHolding *holdings = plh_proof_image_holdings(proof);
	Holder	   *holders = palloc0((proof->holding_count + 1) * sizeof(Holder));

	*count = 0;
	for (uint32 i = 0; i < proof->holding_count; i++)
	{
		uint32		at = 0;

		while (at < *count && holders[at].text != holdings[i].holder)
			at++;
		*count = Max(*count, at + 1);
		holders[at].text = holdings[i].holder;
		holders[at].bytes += holdings[i].bytes;
	}
	sort_holders(holders, *count);
	return holders;
}

static void
say_holders(PlhSaid *said, const PlhProof *proof)
{
	int64		held = proof->bytes - proof->lost_bytes;
	uint32		count;
	Holder	   *holders = find_holders(proof, &count);

	if (count > 0)
		PLH_LINE(said, true, look_holders);
	for (uint32 i = 0; i < Min(count, LISTED); i++)
	{
		if (i > 0 && holders[i].bytes < held / LISTED_PART)
			break;
		PLH_LINE(said, true, look_holder,.bytes = plh_words_size(holders[i].bytes),
				 .who = text_of(proof, holders[i].text));
	}
}

/* Contexts that do not fit: all of them, as of a server that checks its memory, or some. */
static void
say_closed(PlhSaid *said, const PlhLookHeap *heap)
{
	const PlhProof *proof = heap->proof;

	if (proof->contexts == 0)
		PLH_LINE(said, true, look_no_layout,.name = heap->server.version);
	else if (proof->closed_contexts > 0)
		PLH_LINE(said, true, look_closed,.count = proof->closed_contexts,
				 .bytes = plh_words_size(proof->closed_bytes));
}

/* A blank line between parts. */
static void
part(PlhSaid *said)
{
	appendStringInfoChar(&said->text, '\n');
}

void
plh_look_findings_say(PlhSaid *said, const PlhLookHeap *heap, const PlhLookFacts *facts)
{
	part(said);
	say_closed(said, heap);
	if (heap->proof->contexts > 0)
	{
		say_lost(said, heap->proof);
		say_holders(said, heap->proof);
	}
	part(said);
	say_facts(said, facts);
	say_malloc(said, heap);
	say_copy(said, heap);
	PLH_LINE(said, true, look_not_known);
}

static void
put_lost(StringInfo json, const PlhProof *proof, const Lost *lost)
{
	plh_json_open(json, '{');
	plh_json_put_text(json, "context", plh_proof_image_text(proof, lost->group->context_name));
	plh_json_put_text(json, "kind", plh_proof_image_text(proof, lost->group->what));
	plh_json_put_text(json, "content", content_of(proof, lost->group));
	plh_json_put_number(json, "chunks", lost->chunks);
	plh_json_put_number(json, "bytes", lost->bytes);
	plh_json_close(json, '}');
}

static void
put_lost_kinds(StringInfo json, const char *key, const PlhProof *proof, bool for_good)
{
	uint32		count;
	Lost	   *list = find_lost(proof, for_good, &count);

	plh_json_put_open(json, key, '[');
	for (uint32 i = 0; i < Min(count, MOST_PUT); i++)
		put_lost(json, proof, &list[i]);
	plh_json_close(json, ']');
}

static void
put_holders(StringInfo json, const PlhProof *proof)
{
	uint32		count;
	Holder	   *holders = find_holders(proof, &count);

	plh_json_put_open(json, "holders", '[');
	for (uint32 i = 0; i < Min(count, MOST_PUT); i++)
	{
		plh_json_open(json, '{');
		plh_json_put_text(json, "holder", plh_proof_image_text(proof, holders[i].text));
		plh_json_put_number(json, "bytes", holders[i].bytes);
		plh_json_close(json, '}');
	}
	plh_json_close(json, ']');
}

static void
put_figures(StringInfo json, const PlhLookHeap *heap)
{
	const PlhProof *proof = heap->proof;

	plh_json_put_number(json, "pid", heap->copy.pid);
	plh_json_put_text(json, "version", heap->server.version);
	plh_json_put_if(json, "stopped_us", heap->copy.threads > 0 && !heap->copy.is_core,
					heap->copy.stopped_us);
	plh_json_put_number(json, "copied_bytes", heap->copy.copied_bytes);
	plh_json_put_number(json, "unread_bytes", heap->copy.unread_bytes);
	plh_json_put_if(json, "malloc_bytes", heap->malloc == PLH_PROOF_MALLOC_PROVEN,
					heap->malloc_bytes);
	plh_json_put_number(json, "contexts", proof->contexts);
	plh_json_put_number(json, "closed_contexts", proof->closed_contexts);
	plh_json_put_number(json, "closed_bytes", proof->closed_bytes);
	plh_json_put_number(json, "chunks", proof->chunks);
	plh_json_put_number(json, "chunk_bytes", proof->bytes);
	plh_json_put_number(json, "lost_chunks", proof->lost_chunks);
	plh_json_put_number(json, "lost_bytes", proof->lost_bytes);
	plh_json_put_number(json, "resettable_bytes", proof->resettable_bytes);
}

void
plh_look_findings_put(StringInfo json, const PlhLookHeap *heap, const PlhLookFacts *facts)
{
	plh_json_put_open(json, "process", '{');
	put_figures(json, heap);
	plh_json_put_if(json, "private_bytes", facts->private_bytes >= 0, facts->private_bytes);
	plh_json_put_if(json, "shared_bytes", facts->shared_bytes >= 0, facts->shared_bytes);
	plh_json_put_if(json, "swapped_bytes", facts->swapped_bytes >= 0, facts->swapped_bytes);
	plh_json_put_if(json, "page_table_bytes", facts->page_table_bytes >= 0,
					facts->page_table_bytes);
	put_lost_kinds(json, "lost", heap->proof, true);
	put_lost_kinds(json, "lost_until_reset", heap->proof, false);
	put_holders(json, heap->proof);
	plh_json_close(json, '}');
}
