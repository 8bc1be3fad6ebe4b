/*
 * contexts_advice.c
 *	  What to do about memory contexts of one kind, by the code that made them.
 *
 * A family's own advice is for whoever makes such contexts with statements.  Plans can be an
 * extension's or a language's as well, compiled functions those of triggers, and the buffers of
 * decoding an output plugin's.
 */
#include "postgres.h"

#include "judge/process_kind.h"
#include "telling/contexts_advice.h"
#include "telling/known_fault.h"

/* Of the contexts of a prepared plan this part, at least, is of the language that prepared it. */
#define LANGUAGE_PART 8

/* What to do about contexts of a name that nobody knows. */
static void
say_creator(const PlhAdvised *advised)
{
	if (advised->code.library != NULL)
		PLH_SAY(advised->said, true, creator_of_library,.library = advised->code.library);
	else if (advised->code.language != NULL)
		PLH_SAY(advised->said, true, creator_of_language,.language = advised->code.language);
	else
		PLH_SAY(advised->said, true, creator_unknown,
				.noun = plh_process_kind_noun(advised->image),
				.context = plh_account_name(advised->finding->contexts.family, advised->image));
}

/* The language whose functions prepare plans by themselves, by the names of contexts; else NULL. */
static const char *
preparing_language(const PlhAdvised *advised)
{
	static const struct
	{
		const char *context_name;
		const char *language;
	}			languages[] = {
		{"PL/Perl spi_prepare query", "PL/Perl"},
		{"PL/Tcl spi_prepare query", "PL/Tcl"},
		{"PL/Python plan context", "PL/Python"}
	};

	for (int i = 0; i < lengthof(languages); i++)
		if (plh_advised_contexts(advised->image, languages[i].context_name) >
			advised->finding->contexts.family->contexts / LANGUAGE_PART)
			return languages[i].language;
	return NULL;
}

static void
say_language_of_plans(const PlhAdvised *advised, const char *language)
{
	const PlhFields fields = {.language = language};

	if (strcmp(language, "PL/Perl") == 0)
		plh_sentences_say(advised->said, PLH_SAYS_plans_of_perl, true, &fields);
	else
		plh_sentences_say(advised->said, PLH_SAYS_plans_of_language, true, &fields);
}

/* Are most of them plans for any parameters, and not what statements were parsed to? */
static bool
is_of_generic_plans(const PlhFamilyAccount *family)
{
	return family->largest_name != NULL && strcmp(family->largest_name, "CachedPlan") == 0;
}

static void
advise_on_plans(const PlhAdvised *advised, const PlhFamily *plans)
{
	const char *language = preparing_language(advised);

	if (language != NULL)
		say_language_of_plans(advised, language);
	else if (advised->origin->library != NULL)
		PLH_SAY(advised->said, true, plans_of_library,.library = advised->origin->library);
	else
	{
		plh_advised_say_help(advised, plans);
		if (is_of_generic_plans(advised->finding->contexts.family))
			PLH_SAY(advised->said, true, plans_generic);
	}
}

bool
plh_contexts_advice_is_of_plugin(const PlhFinding *finding, const PlhFindingOrigin *origin)
{
	return finding->kind == PLH_KIND_DECODING && origin->library != NULL;
}

/* Are most of them changes of rows, and not what is known of transactions? */
static bool
is_of_changes(const PlhFamilyAccount *family)
{
	return strcmp(family->largest_name, "Tuples") == 0 ||
		strcmp(family->largest_name, "Change") == 0;
}

static void
advise_on_decoding(const PlhAdvised *advised, const PlhFamily *decoding)
{
	PlhPhase	phase = advised->origin->phase;

	if (plh_contexts_advice_is_of_plugin(advised->finding, advised->origin))
		PLH_SAY(advised->said, true, plugin_holds,.library = advised->origin->library);
	else if (phase == PLH_PHASE_DECODING_CATALOGS)
	{
		plh_known_fault_say(advised->said, phase);
		plh_sentences_say(advised->said, plh_phase_help(phase), true, PLH_FIELDS(NULL));
	}
	else if (advised->finding->contexts.value_bytes > 0)
		PLH_SAY(advised->said, true, help_decoding_value);
	else if (is_of_changes(advised->finding->contexts.family))
		PLH_SAY(advised->said, true, help_decoding_changes);
	else
		plh_advised_say_help(advised, decoding);
}

void
plh_contexts_advice_say(const PlhAdvised *advised)
{
	const PlhFamily *family = advised->finding->contexts.family->family;

	if (family == NULL)
		say_creator(advised);
	else if (family->kind == PLH_FAMILY_PLANS)
		advise_on_plans(advised, family);
	else if (family->kind == PLH_FAMILY_DECODING)
		advise_on_decoding(advised, family);
	else if (family->kind == PLH_FAMILY_FUNCTIONS && advised->origin->in_triggers)
		PLH_SAY(advised->said, true, functions_of_triggers);
	else if (advised->origin->is_statistics)
		PLH_SAY(advised->said, true, lower_statistics);
	else
		plh_advised_say_help(advised, family->kind == PLH_FAMILY_CACHE &&
							 advised->family != NULL ? advised->family : family);
}
