/*
 * verdict_words.c
 *	  What the verdicts mean, what to do about them, and how findings are called.
 *
 * The switches have no default, so that the compiler names a verdict or a kind that the table
 * lacks.
 */
#include "postgres.h"

#include "telling/verdict_words.h"

const PlhVerdictWords *
plh_verdict_words_of(PlhVerdict verdict)
{
	switch (verdict)
	{
#define VERDICT_WORDS(id, tone, meaning, todo) \
		case PLH_VERDICT_##id: \
		{ \
			static const PlhVerdictWords words = {tone, meaning, todo}; \
			return &words; \
		}
#define KIND_WORDS(id, cause, headline, answer)
#include "telling/verdict_table.h"
#undef VERDICT_WORDS
#undef KIND_WORDS
		case PLH_VERDICT_NONE:
		case PLH_VERDICTS:
			break;
	}
	return NULL;
}

const PlhKindWords *
plh_verdict_words_of_kind(PlhKind kind)
{
	switch (kind)
	{
#define VERDICT_WORDS(id, tone, meaning, todo)
#define KIND_WORDS(id, cause, headline, answer) \
		case PLH_KIND_##id: \
		{ \
			static const PlhKindWords words = {PLH_SAYS_##cause, PLH_SAYS_##headline, answer}; \
			return &words; \
		}
#include "telling/verdict_table.h"
		case PLH_KINDS:
			break;
	}
	return NULL;
}
