/*
 * page_sites.c
 *	  The call sites of a page, tables of what they share, and sentences on what no site shows.
 *
 * Stacks have their outer frames in common.  So they are written as a tree: a node is by how much
 * its number is above that of the caller's node, which is 0 where there is none, and the number of
 * a frame.  Nodes are numbered from 1 on, all else from 0 on.  Rows are arrays, whose columns
 * src/page/model.js names.
 *
 * A page is limited in size, and has the sites that matter most: by what they hold now, have
 * gained, held at the peak, or ever allocated.
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"
#include "miscadmin.h"

#include "base/plural.h"
#include "base/sampling.h"
#include "base/settings.h"
#include "page/page_sites.h"
#include "profile/site_facts.h"
#include "profile/statement_shape.h"
#include "reader/collections.h"
#include "report/blamed_code.h"
#include "report/json.h"
#include "report/text_numbers.h"
#include "report/words.h"

/* Less than this is not worth a sentence. */
#define WORTH_BYTES (1024 * 1024)

/* Frames, nodes and stacks are found by what they consist of. */
typedef struct FrameKey
{
	int			name;
	int			suffix;
	int			part;
	int			module;
} FrameKey;

typedef struct NodeKey
{
	int			caller;
	int			frame;
} NodeKey;

typedef struct StackKey
{
	int			node;
	int			site_frame;
	int64		stack_id;
	int64		has_stack;
} StackKey;

/* Something that has a number, by its key. */
typedef struct Numbered
{
	HTAB	   *table;			/* keys, each with its number behind it */
	Size		key_bytes;
	int			count;
} Numbered;

/* The arrays of the document, and their keys. */
enum
{
	NAMES, FRAMES, NODES, STACKS, STATEMENTS, ROWS
#define TABLES (ROWS + 1)
};

static const char *const table_keys[TABLES] = {
	"names", "frames", "nodes", "stacks", "statements", "sites"
};

struct PlhPageSites
{
	TimestampTz origin;
	PlhTextNumbers *names;
	PlhTextNumbers *statements;
	Numbered	frames;
	Numbered	nodes;
	Numbered	stacks;
	Numbered	rows;			/* by PlhSiteRecord * */
	int			left_out;		/* sites that are one row */
	StringInfoData tables[TABLES];
};

/* A site, and how much it matters. */
typedef struct RankedSite
{
	const PlhListedSite *listed;
	double		rank;
} RankedSite;

/* What each column adds up to. */
typedef struct Sums
{
	double		live;
	double		growth;
	double		peak;
	double		total;
} Sums;

static Numbered
begin_numbers(const char *name, Size key_bytes)
{
	return (Numbered)
	{
		plh_hash_table(name, key_bytes, key_bytes + sizeof(int)), key_bytes
	};
}

/* The number of a key, from 0 on. */
static int
number_of(Numbered *numbered, const void *key, bool *is_new)
{
	bool		found;
	char	   *entry = hash_search(numbered->table, key, HASH_ENTER, &found);
	int		   *number = (int *) (entry + numbered->key_bytes);

	*is_new = !found;
	if (!found)
		*number = numbered->count++;
	return *number;
}

PlhPageSites *
plh_page_sites_begin(TimestampTz origin)
{
	PlhPageSites *sites = palloc0(sizeof(PlhPageSites));

	sites->origin = origin;
	sites->names = plh_text_numbers_make();
	sites->statements = plh_text_numbers_make();
	sites->frames = begin_numbers("pg_leakhunt page frames", sizeof(FrameKey));
	sites->nodes = begin_numbers("pg_leakhunt page nodes", sizeof(NodeKey));
	sites->stacks = begin_numbers("pg_leakhunt page stacks", sizeof(StackKey));
	sites->rows = begin_numbers("pg_leakhunt page rows", sizeof(void *));
	for (int i = 0; i < TABLES; i++)
	{
		initStringInfo(&sites->tables[i]);
		plh_json_open(&sites->tables[i], '[');
	}
	return sites;
}

static int
number_name(PlhPageSites *sites, const char *text)
{
	bool		is_new;
	int			number = plh_text_numbers_add(sites->names, text, &is_new)->number;

	if (is_new)
		plh_json_text(&sites->tables[NAMES], text);
	return number;
}

/*
 * The number of a statement.  What it has in common with those that differ in literals only is a
 * hash, by which pages are compared.
 */
static int
number_statement(PlhPageSites *sites, const PlhListedSite *listed)
{
	StringInfo	json = &sites->tables[STATEMENTS];
	const char *query = listed->query == NULL ? "" : listed->query;
	PlhStatementShape shape;
	bool		is_new;
	int			number =
		plh_text_numbers_add(sites->statements,
							 psprintf(INT64_FORMAT " %s", listed->query_id, query),
							 &is_new)->number;

	if (!is_new)
		return number;
	plh_statement_shape_of(&shape, query, strlen(query));
	plh_json_open(json, '[');
	if (listed->query_id == 0)
		plh_json_null(json);
	else
		plh_json_id(json, listed->query_id);
	plh_json_text(json, listed->query);
	plh_json_id(json, (int64) hash_bytes_extended((const unsigned char *) shape.text,
												  shape.length, 0));
	plh_json_close(json, ']');
	return number;
}

/* The number of a frame: its function's name, what follows that, its part and module. */
static int
number_frame(PlhPageSites *sites, const PlhFrameText *frame)
{
	const char *name = plh_stack_text_function_name(frame);
	Size		length = strlen(name);
	StringInfo	json = &sites->tables[FRAMES];
	FrameKey	key = {0};
	bool		is_new;
	int			number;

	if (strncmp(frame->text, name, length) != 0)
	{
		name = frame->text;
		length = strlen(name);
	}
	key.name = number_name(sites, name);
	key.suffix = number_name(sites, frame->text + length);
	key.part = plh_blamed_code_part(frame);
	key.module = frame->module == NULL ? -1 :
		number_name(sites, plh_stack_text_base_name(frame->module));
	number = number_of(&sites->frames, &key, &is_new);
	if (is_new)
	{
		plh_json_open(json, '[');
		plh_json_number(json, key.name);
		plh_json_number(json, key.suffix);
		plh_json_number(json, key.part);
		plh_json_if(json, key.module >= 0, key.module);
		plh_json_close(json, ']');
	}
	return number;
}

/* The number of a node that is called by another. */
static int
number_node(PlhPageSites *sites, int caller, int frame)
{
	NodeKey		key = {caller, frame};
	bool		is_new;
	int			number = 1 + number_of(&sites->nodes, &key, &is_new);

	if (is_new)
	{
		plh_json_number(&sites->tables[NODES], number - caller);
		plh_json_number(&sites->tables[NODES], frame);
	}
	return number;
}

int
plh_page_sites_add_stack(PlhPageSites *sites, const PlhStackText *stack, bool has_stack)
{
	StackKey	key = {
		.site_frame = stack->site_frame,
		.stack_id = has_stack ? stack->stack_id : 0,
		.has_stack = has_stack
	};
	StringInfo	json = &sites->tables[STACKS];
	bool		is_new;
	int			number;

	for (int i = stack->frame_count - 1; i >= 0; i--)
		key.node = number_node(sites, key.node, number_frame(sites, &stack->frames[i]));
	number = number_of(&sites->stacks, &key, &is_new);
	if (is_new)
	{
		plh_json_open(json, '[');
		plh_json_number(json, key.node);
		plh_json_number(json, key.site_frame);
		if (has_stack)
			plh_json_id(json, key.stack_id);
		else
			plh_json_null(json);
		plh_json_close(json, ']');
	}
	return number;
}

/* A time, from the origin on. */
static void
append_time(StringInfo json, const PlhPageSites *sites, TimestampTz at)
{
	plh_json_if(json, at != 0 && IS_VALID_TIMESTAMP(at), at - sites->origin);
}

/* When it allocated what it holds, as in pg_leakhunt_ages; five figures for each span. */
static void
append_ages(StringInfo json, const PlhPageSites *sites, const PlhListedSite *listed,
			TimestampTz now)
{
	PlhSiteAge	ages[PLH_SPANS];
	int			count = listed->bytes <= 0 ? 0 :
		plh_site_facts_ages(ages, listed->image, listed->facts.site, now);

	plh_json_open(json, '[');
	for (int i = 0; i < count; i++)
	{
		append_time(json, sites, ages[i].from);
		append_time(json, sites, ages[i].until);
		plh_json_number(json, ages[i].live_bytes);
		plh_json_number(json, ages[i].error_bytes);
		plh_json_number(json, ages[i].total_bytes);
	}
	plh_json_close(json, ']');
}

static void
append_figures(StringInfo json, const PlhListedSite *listed, bool has_baseline)
{
	const PlhSiteFacts *facts = &listed->facts;
	const PlhCounters *counters = facts->counters;

	plh_json_number(json, counters->live_bytes);
	plh_json_number(json, counters->live_count);
	plh_json_number(json, facts->error_bytes);
	/* a variance is a float; beyond 2^62 a bound of it says nothing */
	plh_json_number(json, counters->live_variance > 0 ?
					(int64) Min(counters->live_variance, 4e18) : 0);
	plh_json_if(json, has_baseline, counters->live_bytes - facts->baseline_bytes);
	plh_json_if(json, has_baseline, counters->live_count - facts->baseline_count);
	plh_json_number(json, facts->peak_bytes);
	plh_json_number(json, counters->total_bytes);
	plh_json_number(json, counters->total_count);
	plh_json_number(json, counters->live_samples);
}

static void
append_row(PlhPageSites *sites, const PlhListedSite *listed, TimestampTz now)
{
	StringInfo	json = &sites->tables[ROWS];
	const PlhSiteFacts *facts = &listed->facts;
	bool		is_new;

	(void) number_of(&sites->rows, &facts->site, &is_new);
	plh_json_open(json, '[');
	plh_json_number(json, plh_page_sites_add_stack(sites, &listed->stack, listed->has_stack));
	plh_json_if(json, listed->context_name != NULL, listed->context_name == NULL ? 0 :
				number_name(sites, listed->context_name));
	plh_json_if(json, listed->lifetime != NULL, listed->lifetime == NULL ? 0 :
				number_name(sites, listed->lifetime));
	plh_json_if(json, facts->statement != NULL, facts->statement == NULL ? 0 :
				number_statement(sites, listed));
	append_figures(json, listed, facts->has_baseline);
	append_time(json, sites, facts->counters->first_at);
	append_time(json, sites, facts->counters->last_at);
	append_ages(json, sites, listed, now);
	plh_json_close(json, ']');
}

static Size
written_bytes(const PlhPageSites *sites)
{
	Size		bytes = 0;

	for (int i = 0; i < TABLES; i++)
		bytes += sites->tables[i].len;
	return bytes;
}

static void
add_to_rest(PlhListedSite *rest, PlhCounters *counters, const PlhListedSite *listed)
{
	plh_site_facts_sum(counters, listed->facts.counters);
	rest->facts.peak_bytes += listed->facts.peak_bytes;
	rest->facts.baseline_bytes += listed->facts.baseline_bytes;
	rest->facts.baseline_count += listed->facts.baseline_count;
	rest->facts.has_baseline = listed->facts.has_baseline;
}

/* The row that stands for all sites that do not fit. */
static void
append_rest(PlhPageSites *sites, const RankedSite *ranked, int count)
{
	StringInfo	json = &sites->tables[ROWS];
	PlhCounters counters = {0};
	PlhListedSite rest = {.facts.counters = &counters};
	PlhFrameText frame = {0};

	for (int i = 0; i < count; i++)
		add_to_rest(&rest, &counters, ranked[i].listed);
	rest.facts.error_bytes = (int64)
		plh_sampling_error_bytes(counters.live_variance, counters.live_bytes,
								 counters.live_samples);
	frame.text = psprintf("[%d smaller %s]", count, plh_plural(count, "site", "sites"));
	rest.stack.frames = &frame;
	rest.stack.frame_count = 1;
	plh_json_open(json, '[');
	plh_json_number(json, plh_page_sites_add_stack(sites, &rest.stack, false));
	plh_json_null(json);
	plh_json_null(json);
	plh_json_null(json);
	append_figures(json, &rest, rest.facts.has_baseline);
	append_time(json, sites, counters.first_at);
	append_time(json, sites, counters.last_at);
	plh_json_open(json, '[');
	plh_json_close(json, ']');
	plh_json_close(json, ']');
	sites->left_out = count;
}

static double
part_of(double figure, double sum)
{
	return sum > 0 ? figure / sum : 0;
}

/* qsort comparator: what matters most first, then the record that lies first. */
static int
compare_ranks(const void *a, const void *b)
{
	const RankedSite *left = a;
	const RankedSite *right = b;

	if (left->rank != right->rank)
		return left->rank > right->rank ? -1 : 1;
	return left->listed < right->listed ? -1 : left->listed > right->listed;
}

static RankedSite *
rank_sites(const PlhSiteList *list)
{
	RankedSite *ranked = palloc_extended(sizeof(RankedSite) * Max(list->count, 1), MCXT_ALLOC_HUGE);
	Sums		sums = {0};

	for (int i = 0; i < list->count; i++)
	{
		const PlhListedSite *listed = &list->sites[i];

		sums.live += listed->bytes;
		sums.growth += fabs((double) plh_listed_site_bytes(listed));
		sums.peak += listed->facts.peak_bytes;
		sums.total += listed->facts.counters->total_bytes;
	}
	for (int i = 0; i < list->count; i++)
	{
		const PlhListedSite *listed = &list->sites[i];

		ranked[i].listed = listed;
		ranked[i].rank = Max(Max(part_of(listed->bytes, sums.live),
								 part_of(fabs((double) plh_listed_site_bytes(listed)),
										 sums.growth)),
							 Max(part_of(listed->facts.peak_bytes, sums.peak),
								 part_of(listed->facts.counters->total_bytes, sums.total)));
	}
	qsort(ranked, list->count, sizeof(RankedSite), compare_ranks);
	return ranked;
}

void
plh_page_sites_add_list(PlhPageSites *sites, const PlhSiteList *list, Size most_bytes)
{
	RankedSite *ranked = rank_sites(list);
	int			added = 0;

	while (added < list->count && written_bytes(sites) < most_bytes)
	{
		CHECK_FOR_INTERRUPTS();
		append_row(sites, ranked[added++].listed, list->at);
	}
	if (added < list->count)
		append_rest(sites, ranked + added, list->count - added);
}

int
plh_page_sites_row(const PlhPageSites *sites, const PlhSiteRecord *site)
{
	const char *entry = hash_search(sites->rows.table, &site, HASH_FIND, NULL);

	return entry == NULL ? -1 : *(const int *) (entry + sizeof(site));
}

void
plh_page_sites_append(StringInfo json, const PlhPageSites *sites)
{
	for (int i = 0; i < TABLES; i++)
	{
		plh_json_key(json, table_keys[i]);
		appendBinaryStringInfo(json, sites->tables[i].data, sites->tables[i].len);
		plh_json_close(json, ']');
	}
	plh_json_put_number(json, "sites_left_out", sites->left_out);
	plh_json_put_open(json, "parts", '[');
	for (int i = 0; i < PLH_CODE_PARTS; i++)
		plh_json_text(json, plh_blamed_code_part_name(i));
	plh_json_close(json, ']');
}

/* What call sites do not have, as it was not sampled. */
static void
append_unsampled(StringInfo json, const PlhProfileHeader *header, const PlhAccount *account)
{
	if (header->sample_interval == 0)
		plh_json_text(json, "This process is not being sampled now: call sites show what it allocated before.");
	if (header->scope == PLH_SCOPE_LONG_LIVED)
		plh_json_text(json, "Only memory contexts that last as long as the session are sampled.");
	if (header->unsampled_bytes >= WORTH_BYTES)
		plh_json_text(json, psprintf("%s was allocated in memory contexts before sampling began, including memory that was freed since. No call site shows this memory.",
									 plh_words_size(header->unsampled_bytes)));
	if (!header->malloc_tracked && account->knows_malloc && account->outside_bytes >= WORTH_BYTES)
		plh_json_text(json, psprintf("%s was allocated with malloc outside of memory contexts. This memory is counted, but no call site shows it, because pg_leakhunt_malloc.so was not preloaded.",
									 plh_words_size(account->outside_bytes)));
	if (account->other_bytes >= WORTH_BYTES)
		plh_json_text(json, psprintf("%s belongs neither to memory contexts nor to malloc, such as mapped memory and the data of libraries.",
									 plh_words_size(account->other_bytes)));
}

/* What was sampled, and could not be kept. */
static void
append_lost(StringInfo json, const PlhProfileHeader *header)
{
	int64		lost = plh_profile_image_lost_samples(header);

	if (lost > 0)
		plh_json_text(json, psprintf(INT64_FORMAT " %s not kept at a call site: pg_leakhunt.max_live_samples, pg_leakhunt.max_profile_size, memory or disk space was used up, or the allocation was in a critical section.",
									 lost, plh_plural(lost, "sample was", "samples were")));
	if (!plh_profile_image_is_whole(header))
		plh_json_text(json, "Part of the profile is missing, because its file system was full.");
	if (header->courses_refused != 0)
		plh_json_text(json, "The history of some call sites or memory contexts is missing, because the profile was full.");
}

void
plh_page_sites_append_unseen(StringInfo json, const PlhProfileImage *image,
							 const PlhAccount *account)
{
	plh_json_open(json, '[');
	append_unsampled(json, image->header, account);
	append_lost(json, image->header);
	if (!account->is_counted)
		plh_json_text(json, "The process has not counted its memory contexts yet.");
	plh_json_close(json, ']');
}
