/*
 * statement_advice.c
 *	  What to do about a statement or transaction that holds much.
 *
 * What allocates tells most: an extension's function, then contexts of a kind that is known, then
 * what the server was doing.  Advice on hash tables and sorts is given where these hold it, and on
 * functions where nothing else is known.
 */
#include "postgres.h"

#include "judge/process_kind.h"
#include "judge/suspect.h"
#include "report/words.h"
#include "telling/planning_advice.h"
#include "telling/statement_advice.h"
#include "telling/statement_form.h"

/* From this size on a single value or text is a cause by itself. */
#define VALUE_BYTES INT64CONST(33554432)

/* What to do about a node that holds more than it may, or about many. */
static void
say_nodes(const PlhAdvised *advised)
{
	const PlhStatementFound *statement = &advised->finding->statement;
	int64		each = statement->node_bytes / Max(1, statement->nodes);

	if (each > PLH_SUSPECT_QUERY_LIMITS * statement->limit_bytes)
		PLH_SAY(advised->said, true, node_misjudged);
	else if (each > statement->limit_bytes / 2)
		PLH_SAY(advised->said, true, nodes_full);
	else
		PLH_SAY(advised->said, true, nodes_many,.each = plh_words_size(each));
}

/* Does the call site that the finding is named after begin with that function? */
static bool
is_at(const PlhListedSite *named, const char *function)
{
	return named != NULL && named->stack.site != NULL &&
		strncmp(named->stack.site, function, strlen(function)) == 0;
}

/*
 * Is that where the buffer of a temporary file is allocated?  A node has one or two of them, unless
 * a hash join has very many batches, whose buffers have a context of their own from 16 on.
 */
static bool
is_file_buffer(const PlhListedSite *named)
{
	return is_at(named, "BufFileCreateTemp") || is_at(named, "makeBufFile");
}

/*
 * About how large a single value or text is that has much of what a statement holds; 0 where there
 * is none.  Arrays of hash tables and sorts are single chunks, too, but in nodes, or known by the
 * functions that enlarge them.
 */
static int64
value_bytes(const PlhAdvised *advised)
{
	const PlhStatementFound *statement = &advised->finding->statement;
	const PlhCounters *counters;
	int64		bytes;

	if (advised->code.library != NULL || advised->code.language != NULL ||
		advised->named == NULL || advised->named->stack.site == NULL ||
		statement->share_count == 0 || is_at(advised->named, "tuplehash_grow") ||
		(statement->part != NULL &&
		 statement->part->family != plh_family_of("MessageContext")) ||
		statement->node_bytes > advised->finding->bytes / 2)
		return 0;
	counters = &statement->shares[0].site->counters;
	bytes = counters->live_count == 0 ? 0 : counters->live_bytes / counters->live_count;
	return bytes < VALUE_BYTES ? 0 : bytes;
}

/* What to do about such a value: as the client sends it, or as a function makes it. */
static void
say_value(const PlhAdvised *advised, int64 bytes)
{
	const PlhFields fields = {.bytes = plh_words_size(bytes)};

	if (advised->origin->phase == PLH_PHASE_COPY_READING)
		plh_sentences_say(advised->said, PLH_SAYS_row_of_copy, true, &fields);
	else
		plh_sentences_say(advised->said, advised->finding->statement.part != NULL ?
						  PLH_SAYS_value_of_client : PLH_SAYS_value_made, true, &fields);
}

/*
 * Are there states of a hash aggregate among what the executor has?  work_mem limits the number of
 * groups that it keeps.
 */
static bool
may_be_groups(const PlhAdvised *advised)
{
	return plh_advised_contexts(advised->image, "HashAgg") > 0;
}

/* Is that code of an extension which no function of the statement has called, such as a hook? */
static bool
is_before_running(PlhPhase phase)
{
	return phase == PLH_PHASE_PLANNING || plh_phase_parent(phase) == PLH_PHASE_PLANNING ||
		phase == PLH_PHASE_PARSING || phase == PLH_PHASE_STARTING;
}

/* What to do where functions of an extension allocate. */
static void
say_library(const PlhAdvised *advised, const char *library)
{
	const PlhFields fields = {.library = library};
	PlhPhase	phase = advised->origin->phase;

	if (phase == PLH_PHASE_INDEX_BUILD || phase == PLH_PHASE_DECODING || is_before_running(phase))
	{
		plh_sentences_say(advised->said, phase == PLH_PHASE_DECODING ? PLH_SAYS_plugin_holds :
						  phase == PLH_PHASE_INDEX_BUILD ? PLH_SAYS_library_in_build :
						  PLH_SAYS_report_to_authors, true, &fields);
		return;
	}
	PLH_SAY(advised->said, true, library_allocates,.library = library);
	if (may_be_groups(advised))
		PLH_SAY(advised->said, true, groups_hold);
	else
		PLH_SAY(advised->said, true, library_unlimited);
}

/* What to do about parse trees: it goes by what the client has sent. */
static void
say_parsing(const PlhAdvised *advised)
{
	static const PlhSentence sentences[] = {
		[PLH_FORM_OTHER] = PLH_SAYS_help_parsing,
		[PLH_FORM_SEVERAL] = PLH_SAYS_help_messages,
		[PLH_FORM_VALUES] = PLH_SAYS_help_values
	};

	plh_sentences_say(advised->said,
					  sentences[plh_statement_form(advised->image, advised->finding->site)], true,
					  PLH_FIELDS(NULL));
}

/* Are the contexts those of a statement's text and plan, of which the phase tells more? */
static bool
is_of_message(const PlhFamilyAccount *part)
{
	return part->family == plh_family_of("MessageContext");
}

/* What to do by the phase.  Returns false where it does not tell that. */
static bool
say_by_phase(const PlhAdvised *advised)
{
	PlhPhase	phase = advised->origin->phase;

	if (plh_phase_purpose(phase) == PLH_SENTENCES)
		return false;
	if (phase == PLH_PHASE_PARSING)
		say_parsing(advised);
	else if (phase == PLH_PHASE_PLANNING || plh_phase_parent(phase) == PLH_PHASE_PLANNING)
		plh_planning_advice_say(advised);
	else if (plh_phase_help(phase) == PLH_SENTENCES)
		PLH_SAY(advised->said, true, see_report,.pid = advised->image->header->pid,
				.noun = plh_process_kind_noun(advised->image));
	else
		plh_sentences_say(advised->said, plh_phase_help(phase), true, PLH_FIELDS(NULL));
	return true;
}

/* What to do where contexts of one kind hold much of it. */
static void
say_part(const PlhAdvised *advised, const PlhFamilyAccount *part)
{
	if (is_of_message(part) &&
		plh_statement_form(advised->image, advised->finding->site) != PLH_FORM_OTHER)
		say_parsing(advised);
	else
		plh_advised_say_help(advised, part->family);
}

/* What to do where functions build large values. */
static void
say_functions(const PlhAdvised *advised)
{
	static const PlhSentence sentences[] = {
		[PLH_PROCESS_SESSION] = PLH_SAYS_functions_hold,
		[PLH_PROCESS_PARALLEL_WORKER] = PLH_SAYS_leader_holds,
		[PLH_PROCESS_AUTOVACUUM_WORKER] = PLH_SAYS_vacuum_holds,
		[PLH_PROCESS_BACKGROUND_WORKER] = PLH_SAYS_see_report,
		[PLH_PROCESS_WALSENDER] = PLH_SAYS_see_report,
		[PLH_PROCESS_OTHER] = PLH_SAYS_see_report
	};
	const PlhProfileImage *image = advised->image;

	if (may_be_groups(advised))
	{
		PLH_SAY(advised->said, true, functions_in_groups);
		PLH_SAY(advised->said, true, groups_hold);
		return;
	}
	plh_sentences_say(advised->said, sentences[plh_process_kind(image->header)], true,
					  PLH_FIELDS(.pid = image->header->pid,.noun = plh_process_kind_noun(image)));
}

/* What to do by the call site that has most, or by nodes of the plan. */
static void
say_by_site(const PlhAdvised *advised)
{
	const PlhStatementFound *statement = &advised->finding->statement;

	if (is_file_buffer(advised->named))
		PLH_SAY(advised->said, true, file_buffers,.help = plh_family_of("HashSpillContext")->help);
	else if (advised->family != NULL)
		plh_advised_say_help(advised, advised->family);
	else if (statement->node_bytes > advised->finding->bytes / 2)
		say_nodes(advised);
	else if (advised->code.library != NULL)
		say_library(advised, advised->code.library);
	else if (advised->code.language != NULL)
		PLH_SAY(advised->said, true, language_holds,.language = advised->code.language);
	else
		say_functions(advised);
}

void
plh_statement_advice_say(const PlhAdvised *advised)
{
	const PlhFamilyAccount *part = advised->finding->statement.part;
	int64		value = value_bytes(advised);

	if (value > 0)
		say_value(advised, value);
	else if (part != NULL && !is_of_message(part))
		say_part(advised, part);
	else if (advised->origin->library != NULL)
		say_library(advised, advised->origin->library);
	else if (say_by_phase(advised))
		return;
	else if (part != NULL && advised->origin->phase == PLH_PHASE_UNKNOWN)
		say_part(advised, part);
	else
		say_by_site(advised);
}
