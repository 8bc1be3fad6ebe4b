/*
 * share_text.c
 *	  Which functions have most of what a statement holds, as a sentence.
 *
 * A function that is called from several places is one to the reader: its sites are added
 * up, and told without a line where that is not the same.  Those without a name are
 * added up by their caller.
 */
#include "postgres.h"

#include <math.h>

#include "lib/stringinfo.h"

#include "profile/site_facts.h"
#include "report/blamed_code.h"
#include "report/listed_site.h"
#include "telling/share_text.h"

/* What all sites of a function have in contexts of one name. */
typedef struct FunctionShare
{
	const char *function;		/* where it has no name, "functions called by
								 * f", or the place */
	const char *site;			/* the same with file and line, if these are
								 * known and one */
	const char *context_name;
	const char *nameless;		/* path of its binary where it has no name */
	const char *largest_site;	/* the site of all that holds most, if it is
								 * one of several here; else NULL */
	int64		largest_bytes;	/* of that */
	bool		is_named;		/* it has the site that the finding is named
								 * after */
	int64		bytes;
} FunctionShare;

/* All that is told. */
typedef struct Shares
{
	FunctionShare functions[PLH_SHARES];
	int			count;
	int64		all;			/* that parts are parts of */
} Shares;

/* The share of one site. */
static FunctionShare
describe(const PlhShare *share, const PlhProfileImage *image, PlhStackTexts *texts)
{
	PlhSiteFacts facts;
	PlhListedSite listed;
	const char *caller;
	FunctionShare described = {.bytes = share->bytes};

	plh_site_facts_resolve(&facts, image, share->site, NULL);
	plh_listed_site_start(&listed, image, &facts);
	plh_listed_site_describe_stack(&listed, texts);
	described.site = plh_blamed_code_site(&listed.stack);
	described.context_name = listed.context_name;
	described.nameless = plh_blamed_code_nameless(&listed.stack);
	described.function = listed.stack.frames[listed.stack.site_frame].function;
	caller = plh_blamed_code_caller(&listed.stack);
	if (caller != NULL)
		described.function = psprintf("functions called by %s", caller);
	else if (described.function == NULL)
		described.function = described.site;
	return described;
}

/*
 * Add a share to that of its function.  The first of all is the site that the finding is
 * named after: so it is named, too, where it is one of several.
 */
static void
add_share(Shares *shares, const FunctionShare *share)
{
	for (int i = 0; i < shares->count; i++)
	{
		FunctionShare *entered = &shares->functions[i];

		if (strcmp(entered->function, share->function) != 0 ||
			strcmp(entered->context_name, share->context_name) != 0)
			continue;
		if (i == 0 && entered->largest_site == NULL && strcmp(entered->site, share->site) != 0)
		{
			entered->largest_site = entered->site;
			entered->largest_bytes = entered->bytes;
		}
		entered->bytes += share->bytes;
		if (strcmp(entered->site, share->site) != 0)
			entered->site = entered->function;
		return;
	}
	shares->functions[shares->count] = *share;
	shares->functions[shares->count].is_named = shares->count == 0;
	shares->count++;
}

/* qsort comparator: the largest first. */
static int
compare_shares(const void *a, const void *b)
{
	const FunctionShare *left = a;
	const FunctionShare *right = b;

	return left->bytes > right->bytes ? -1 : left->bytes < right->bytes;
}

/* Is it much of all, so that it explains something? */
static bool
is_much(const Shares *shares, int64 bytes)
{
	return (double) bytes >= PLH_NAMED_PART * (double) shares->all;
}

/* Move the function that the finding is named after among those that are told. */
static void
put_named_forward(Shares *shares)
{
	for (int i = PLH_TOLD_SHARES; i < shares->count; i++)
	{
		FunctionShare share = shares->functions[i];

		if (!share.is_named || !is_much(shares, share.bytes))
			continue;
		memmove(&shares->functions[PLH_TOLD_SHARES], &shares->functions[PLH_TOLD_SHARES - 1],
				sizeof(FunctionShare) * (i - PLH_TOLD_SHARES + 1));
		shares->functions[PLH_TOLD_SHARES - 1] = share;
	}
}

/*
 * Describe the sites, and add them up by function, the largest first.  Without "texts" only
 * the sum of all is known.
 */
static void
add_up(Shares *shares, const PlhSuspect *suspect, const PlhProfileImage *image,
	   PlhStackTexts *texts)
{
	memset(shares, 0, sizeof(*shares));
	for (int i = 0; i < suspect->share_count; i++)
	{
		shares->all += suspect->shares[i].bytes;
		if (texts != NULL)
		{
			FunctionShare share = describe(&suspect->shares[i], image, texts);

			add_share(shares, &share);
		}
	}

	/*
	 * samples may stand for more than was counted: parts are parts all the
	 * same
	 */
	shares->all = Max(shares->all, Max(1, suspect->facts.live_bytes));
	qsort(shares->functions, shares->count, sizeof(FunctionShare), compare_shares);
	put_named_forward(shares);
}

/* A part of all, in percent. */
static double
percent_of(const Shares *shares, int64 bytes)
{
	return 100.0 * bytes / shares->all;
}

/* Is there a function at all that has much? */
static bool
has_much(const Shares *shares)
{
	return shares->count > 0 && is_much(shares, shares->functions[0].bytes);
}

/* How many functions are told. */
static int
told_of(const Shares *shares)
{
	int			told = 0;

	if (!has_much(shares))
		return 0;
	while (told < Min(shares->count, PLH_TOLD_SHARES) &&
		   (percent_of(shares, shares->functions[told].bytes) >= PLH_LEAST_PERCENT ||
			(told > 0 && shares->functions[told].is_named)))
		told++;
	return told;
}

/*
 * Where the rest is.  Of more sites than there is room for, each has no more than the
 * smallest of these.  Where all are known, the rest are headers of chunks, rounding, what
 * is free, and what was not sampled.
 */
static void
append_rest(StringInfo text, const Shares *shares, int told, const PlhSuspect *suspect)
{
	int64		rest = shares->all;
	int64		others = 0;
	int64		most = 0;
	bool		has_more = suspect->share_count == PLH_SHARES;

	if (has_more)
		most = suspect->shares[PLH_SHARES - 1].bytes;
	for (int i = 0; i < shares->count; i++)
	{
		rest -= shares->functions[i].bytes;
		if (i < told)
			continue;
		others += shares->functions[i].bytes;
		most = Max(most, shares->functions[i].bytes);
	}
	if (has_more)
		others += rest;
	if (percent_of(shares, others) >= PLH_LEAST_PERCENT)
		appendStringInfo(text, has_more ? ", the other %.0f%% at many sites, none above %.0f%%" :
						 ", %.0f%% at other sites, none above %.0f%%",
						 percent_of(shares, others), ceil(percent_of(shares, most)));
	if (!has_more && percent_of(shares, rest) >= PLH_LEAST_PERCENT)
		appendStringInfo(text, ", and %.0f%% without a call site (free space, rounding of sizes, and what was not sampled)", percent_of(shares, rest));
}

/* That no function has much, but some have something; "" where samples tell nothing. */
static const char *
scattered_text(const Shares *shares)
{
	double		most = shares->count == 0 ? 0.0 :
		percent_of(shares, shares->functions[0].bytes);

	return most < PLH_LEAST_PERCENT ? "" :
		psprintf(" By its samples, no call site has more than %.0f%% of it.", ceil(most));
}

/*
 * Has the site of a suspect, with all others of its function, enough to name the finding
 * after it?
 */
bool
plh_share_text_names_site(const PlhSuspect *suspect, const PlhProfileImage *image,
						  PlhStackTexts *texts)
{
	Shares		shares;

	if (suspect->facts.subject != PLH_SUBJECT_STATEMENT)
		return suspect->site != NULL && !suspect->is_scattered;
	if (suspect->share_count == 0)
		return false;
	add_up(&shares, suspect, image, NULL);
	if (is_much(&shares, suspect->shares[0].bytes))
		return true;
	add_up(&shares, suspect, image, texts);
	for (int i = 0; i < shares.count; i++)
		if (shares.functions[i].is_named)
			return is_much(&shares, shares.functions[i].bytes);
	return false;
}

/*
 * The sentence, in the current memory context.
 */
const char *
plh_share_text(const PlhSuspect *suspect, const PlhProfileImage *image,
			   PlhStackTexts *texts)
{
	Shares		shares;
	StringInfoData text;
	int			told;

	add_up(&shares, suspect, image, texts);
	if (!has_much(&shares))
		return scattered_text(&shares);
	told = told_of(&shares);
	initStringInfo(&text);
	for (int i = 0; i < told; i++)
	{
		const FunctionShare *share = &shares.functions[i];

		appendStringInfo(&text, "%s%.0f%% at %s in %s", i == 0 ? " By call site: " : ", ",
						 percent_of(&shares, share->bytes), share->site, share->context_name);
		if (share->largest_site != NULL)
			appendStringInfo(&text, " (%.0f%% at %s)",
							 percent_of(&shares, share->largest_bytes), share->largest_site);
	}
	if (told > 0)
	{
		append_rest(&text, &shares, told, suspect);
		appendStringInfoChar(&text, '.');
	}
	return text.data;
}

/*
 * The path of the binary of a function that is told without a name; NULL where all have
 * theirs.
 */
const char *
plh_share_text_nameless(const PlhSuspect *suspect, const PlhProfileImage *image,
						PlhStackTexts *texts)
{
	Shares		shares;
	int			told;

	add_up(&shares, suspect, image, texts);
	told = told_of(&shares);
	for (int i = 0; i < told; i++)
		if (shares.functions[i].nameless != NULL)
			return shares.functions[i].nameless;
	return NULL;
}
