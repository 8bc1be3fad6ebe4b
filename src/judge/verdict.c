/*
 * verdict.c
 *	  The verdicts, and the kinds of findings that have them.
 */
#include "postgres.h"

#include "judge/verdict.h"

/* The name of a verdict that users see. */
const char *
plh_verdict_name(PlhVerdict verdict)
{
	static const char *const names[] = {
#define NAME_OF(id, name) name,
		PLH_EACH_VERDICT(NAME_OF)
	};

	return names[verdict];
}

PlhVerdict
plh_verdict_of(PlhKind kind)
{
	static const PlhVerdict verdicts[] = {
#define VERDICT_OF(id, verdict, subject) PLH_VERDICT_##verdict,
		PLH_EACH_KIND(VERDICT_OF)
	};

	return verdicts[kind];
}

PlhSubject
plh_verdict_subject(PlhKind kind)
{
	static const PlhSubject subjects[] = {
#define SUBJECT_OF(id, verdict, subject) PLH_SUBJECT_##subject,
		PLH_EACH_KIND(SUBJECT_OF)
	};

	return subjects[kind];
}
