/*
 * function_shares.c
 *	  Which functions have most of what a statement holds, or several call sites of one cause.
 */
#include "postgres.h"

#include "profile/site_facts.h"
#include "report/blamed_code.h"
#include "report/listed_site.h"
#include "telling/function_shares.h"

/*
 * The share of one site.  Of several call sites of one cause, which may be of one function, each is
 * told by its line.
 */
static PlhFunctionShare
describe(const PlhShare *share, bool by_line, const PlhProfileImage *image, PlhStackTexts *texts)
{
	PlhSiteFacts facts;
	PlhListedSite listed;
	const char *caller;
	PlhFunctionShare described = {.bytes = share->bytes};

	plh_site_facts_resolve(&facts, image, share->site, NULL);
	plh_listed_site_start(&listed, image, &facts);
	plh_listed_site_describe_stack(&listed, texts);
	described.site = plh_blamed_code_site(&listed.stack);
	described.context_name = listed.context_name;
	described.nameless = plh_blamed_code_nameless(&listed.stack);
	described.function = listed.stack.frames[listed.stack.site_frame].function;
	caller = plh_blamed_code_caller(&listed.stack);
	if (by_line)
		described.function = described.site;
	else if (caller != NULL)
		described.function = psprintf("functions called by %s", caller);
	else if (described.function == NULL)
		described.function = described.site;
	return described;
}

/*
 * Add a share to that of its function.  The first of all is the site that the finding is named
 * after: so it is named, too, where it is one of several.
 */
static void
add_share(PlhFunctionShares *shares, const PlhFunctionShare *share)
{
	for (int i = 0; i < shares->count; i++)
	{
		PlhFunctionShare *entered = &shares->functions[i];

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
	const PlhFunctionShare *left = a;
	const PlhFunctionShare *right = b;

	return left->bytes > right->bytes ? -1 : left->bytes < right->bytes;
}

/* Is it much of all, so that it explains something? */
static bool
is_much(const PlhFunctionShares *shares, int64 bytes)
{
	return (double) bytes >= PLH_NAMED_PART * (double) shares->all;
}

/* Move the function that the finding is named after among those that are told. */
static void
put_named_forward(PlhFunctionShares *shares)
{
	for (int i = PLH_TOLD_SHARES; i < shares->count; i++)
	{
		PlhFunctionShare share = shares->functions[i];

		if (!share.is_named || !is_much(shares, share.bytes))
			continue;
		memmove(&shares->functions[PLH_TOLD_SHARES], &shares->functions[PLH_TOLD_SHARES - 1],
				sizeof(PlhFunctionShare) * (i - PLH_TOLD_SHARES + 1));
		shares->functions[PLH_TOLD_SHARES - 1] = share;
	}
}

static int
told_of(const PlhFunctionShares *shares)
{
	int			told = 0;

	if (shares->count == 0 || !is_much(shares, shares->functions[0].bytes))
		return 0;
	for (; told < Min(shares->count, PLH_TOLD_SHARES); told++)
	{
		const PlhFunctionShare *share = &shares->functions[told];

		if (plh_function_shares_percent(shares, share->bytes) < PLH_LEAST_PERCENT &&
			(told == 0 || !share->is_named))
			break;
	}
	return told;
}

/*
 * Where the rest is.  Of more sites than there is room for, each has no more than the smallest of
 * these.
 */
static void
find_rest(PlhFunctionShares *shares, const PlhShare *sites, int count)
{
	int64		rest = shares->all;

	shares->has_more = count == PLH_SHARES;
	if (shares->has_more)
		shares->others_most = sites[PLH_SHARES - 1].bytes;
	for (int i = 0; i < shares->count; i++)
	{
		rest -= shares->functions[i].bytes;
		if (i < shares->told)
			continue;
		shares->others += shares->functions[i].bytes;
		shares->others_most = Max(shares->others_most, shares->functions[i].bytes);
	}
	if (shares->has_more)
		shares->others += rest;
	else
		shares->unknown = rest;
}

/* The largest sites of what it is about; none where it is about one site, or no statement. */
static const PlhShare *
shares_of(const PlhFinding *finding, int *count)
{
	bool		is_of_sites = plh_finding_subject(finding) == PLH_SUBJECT_SITE;

	*count = is_of_sites ? finding->sites.part_count : finding->statement.share_count;
	return is_of_sites ? finding->sites.parts : finding->statement.shares;
}

void
plh_function_shares_add_up(PlhFunctionShares *shares, const PlhFinding *finding,
						   const PlhProfileImage *image, PlhStackTexts *texts)
{
	bool		is_of_sites = plh_finding_subject(finding) == PLH_SUBJECT_SITE;
	int			count;
	const PlhShare *sites = shares_of(finding, &count);

	memset(shares, 0, sizeof(*shares));
	for (int i = 0; i < count; i++)
	{
		shares->all += sites[i].bytes;
		if (texts != NULL)
		{
			PlhFunctionShare share = describe(&sites[i], is_of_sites, image, texts);

			add_share(shares, &share);
		}
	}

	/*
	 * samples may stand for more than was counted: parts are parts all the
	 * same
	 */
	shares->all = Max(shares->all, Max(1, finding->bytes));
	qsort(shares->functions, shares->count, sizeof(PlhFunctionShare), compare_shares);
	put_named_forward(shares);
	shares->told = told_of(shares);
	find_rest(shares, sites, count);
}

bool
plh_function_shares_name_site(const PlhFinding *finding, const PlhProfileImage *image,
							  PlhStackTexts *texts)
{
	PlhFunctionShares shares;

	if (plh_finding_subject(finding) == PLH_SUBJECT_CONTEXTS)
		return finding->site != NULL && !finding->contexts.is_scattered;
	if (finding->kind != PLH_KIND_STATEMENT)
		return finding->site != NULL;
	if (finding->statement.share_count == 0)
		return false;
	plh_function_shares_add_up(&shares, finding, image, NULL);
	if (is_much(&shares, finding->statement.shares[0].bytes))
		return true;
	plh_function_shares_add_up(&shares, finding, image, texts);
	for (int i = 0; i < shares.count; i++)
		if (shares.functions[i].is_named)
			return is_much(&shares, shares.functions[i].bytes);
	return false;
}

const char *
plh_function_shares_nameless(const PlhFinding *finding, const PlhProfileImage *image,
							 PlhStackTexts *texts)
{
	PlhFunctionShares shares;

	plh_function_shares_add_up(&shares, finding, image, texts);
	for (int i = 0; i < shares.told; i++)
		if (shares.functions[i].nameless != NULL)
			return shares.functions[i].nameless;
	return NULL;
}
