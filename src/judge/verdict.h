/*
 * verdict.h
 *	  The verdicts, and the kinds of findings that have them.
 *
 * What each of them means, and what is said of it, is in telling/verdict_table.h.
 */
#pragma once

/* The verdicts, those that say most last, and their names, which users see. */
#define PLH_EACH_VERDICT(VERDICT) \
	VERDICT(NONE, "none") \
	VERDICT(GROWING, "growing")	/* it grows: a leak, or a cache that fills */ \
	VERDICT(FREED, "freed")		/* freed, and kept by malloc */ \
	VERDICT(MAPPED, "mapped")	/* neither contexts' nor malloc's, and grows */ \
	VERDICT(MALLOC, "malloc")	/* malloc outside of contexts keeps growing */ \
	VERDICT(CONTEXTS, "contexts")	/* contexts keep becoming more, or are many */ \
	VERDICT(HELD, "held")		/* a few transactions have left it */ \
	VERDICT(QUERY, "query")		/* a statement that runs takes too much */ \
	VERDICT(LEAK, "leak")		/* keeps growing */

typedef enum PlhVerdict
{
#define PLH_VERDICT_OF(id, name) PLH_VERDICT_##id,
	PLH_EACH_VERDICT(PLH_VERDICT_OF)
#undef PLH_VERDICT_OF
	PLH_VERDICTS				/* how many there are */
} PlhVerdict;

/* What a finding is about, which tells what can be counted of it. */
typedef enum PlhSubject
{
	PLH_SUBJECT_SITE,			/* one, or several that are added up */
	PLH_SUBJECT_STATEMENT,		/* all that a statement or transaction holds */
	PLH_SUBJECT_CONTEXTS,		/* of one family */
	PLH_SUBJECT_PROCESS			/* as a whole */
} PlhSubject;

/*
 * The kinds of findings: a verdict on a subject.  Whoever tells of findings has a case for each of
 * them.
 */
#define PLH_EACH_KIND(KIND) \
	KIND(SITE_LEAKS, LEAK, SITE) \
	KIND(MALLOC_SITE_LEAKS, MALLOC, SITE) \
	KIND(SITE_HOLDS, HELD, SITE) \
	KIND(SITE_GROWS, GROWING, SITE) \
	KIND(SITE_LOST, LEAK, SITE)	/* nothing points to it */ \
	KIND(MALLOC_SITE_LOST, MALLOC, SITE) \
	KIND(SITE_REACHED, GROWING, SITE)	/* as a leak, but it can be reached */ \
	KIND(CONTEXTS_GROW, CONTEXTS, CONTEXTS) \
	KIND(CONTEXTS_HOLD, HELD, CONTEXTS) \
	KIND(CACHE_GROWS, GROWING, CONTEXTS) \
	KIND(DECODING, QUERY, CONTEXTS) \
	KIND(STATEMENT, QUERY, STATEMENT) \
	KIND(MALLOC_GROWS, MALLOC, PROCESS) \
	KIND(MALLOC_REACHED, GROWING, PROCESS)	/* it can be reached: a cache? */ \
	KIND(MAPPED_GROWS, MAPPED, PROCESS) \
	KIND(OUTSIDE_GROWS, MALLOC, PROCESS)	/* malloc does not tell what it has */ \
	KIND(MALLOC_KEEPS, FREED, PROCESS) \
	KIND(PROCESS_GROWS, GROWING, PROCESS)

typedef enum PlhKind
{
#define PLH_KIND_OF(id, verdict, subject) PLH_KIND_##id,
	PLH_EACH_KIND(PLH_KIND_OF)
#undef PLH_KIND_OF
	PLH_KINDS					/* how many there are */
} PlhKind;

/* How fast something grows; none: it does not, or that is not known. */
typedef struct PlhRate
{
	bool		is_known;
	int64		bytes_per_hour; /* positive */
	int64		seen_us;		/* the time in which it was seen to grow so */
} PlhRate;

extern const char *plh_verdict_name(PlhVerdict verdict);
extern PlhVerdict plh_verdict_of(PlhKind kind);
extern PlhSubject plh_verdict_subject(PlhKind kind);
