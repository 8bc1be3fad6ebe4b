/*
 * test_pictures.c
 *	  What pictures are made of: sums over random lists of call sites, which are
 *	  the sums of the lists however they are merged.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/memutils.h"

#include "backend.h"
#include "reader_tests.h"
#include "pprof/pprof.h"
#include "report/call_tree.h"
#include "report/flamegraph.h"
#include "report/top.h"
#include "report/words.h"
#include "sound_profile.h"

#define SEED 31

/* Few, so that stacks have much in common. */
static const char *const functions[] = {
	"main", "a", "b", "c;d", "e\nf", "g h", ";", "\n", "a;b", "\x01\x7f", ""
};
static const char *const modules[] = {"/bin/x", "/lib/y.so", NULL};
static const char *const contexts[] = {NULL, "ctx", "c;t\rx", "line\n1 2"};
static const char *const queries[] = {NULL, "SELECT 1;", "a\nb\n"};

static void
fill_frame(pg_prng_state *prng, PlhFrameText *frame, uint32 index)
{
	memset(frame, 0, sizeof(*frame));
	frame->text = "0x1 [JIT code]";
	if (random_below(prng, 10) > 0)
		frame->function = functions[random_below(prng, lengthof(functions))];
	frame->module = modules[random_below(prng, lengthof(modules))];
	frame->line = random_below(prng, 3);
	frame->file = random_below(prng, 2) == 0 ? "/src/f.c" : NULL;
	frame->address_index = index;
}

static void
fill_site(pg_prng_state *prng, PlhListedSite *listed, bool growth)
{
	PlhSiteRecord *site = palloc0(sizeof(PlhSiteRecord));

	memset(listed, 0, sizeof(*listed));
	site->counters.live_samples = random_below(prng, 50);
	site->counters.live_variance = random_below(prng, 50);
	listed->facts.site = site;
	listed->facts.counters = &site->counters;
	listed->context_name = contexts[random_below(prng, lengthof(contexts))];
	listed->query = queries[random_below(prng, lengthof(queries))];
	listed->stack.frame_count = 1 + random_below(prng, 6);
	listed->stack.frames = palloc(sizeof(PlhFrameText) *
								  listed->stack.frame_count);
	for (int i = 0; i < listed->stack.frame_count; i++)
		fill_frame(prng, &listed->stack.frames[i], i);
	listed->stack.site = "a site";
	listed->bytes = random_below(prng, 4) == 0 ? 0 :
		random_below(prng, 10) == 0 ? random_below(prng, 1 << 30) :
		random_below(prng, 100);
	listed->count = random_below(prng, 100);
	if (growth)
	{
		listed->old_bytes = random_below(prng, 100);
		listed->old_count = random_below(prng, 100);
	}
}

static PlhSiteList *
random_list(pg_prng_state *prng)
{
	PlhSiteList *list = palloc0(sizeof(PlhSiteList));

	list->growth = random_below(prng, 2) == 0;
	list->count = random_below(prng, 60);
	list->sites = palloc(sizeof(PlhListedSite) * Max(list->count, 1));
	for (int i = 0; i < list->count; i++)
		fill_site(prng, &list->sites[i], list->growth);
	return list;
}

/* The name that a site has at a level of the tree; NULL behind its last. */
static const char *
name_at(const PlhListedSite *listed, int level, bool with_context,
		bool with_query, const char **module)
{
	const PlhFrameText *frame;

	*module = NULL;
	if (with_context && level-- == 1)
		return listed->context_name != NULL ? listed->context_name : "[no context]";
	if (with_query && level-- == 1)
		return listed->query != NULL ? listed->query : "[no statement]";
	if (level > listed->stack.frame_count)
		return NULL;
	frame = &listed->stack.frames[listed->stack.frame_count - level];
	*module = plh_stack_text_module_name(frame);
	return plh_stack_text_function_name(frame);
}

/* What a tree is checked against. */
typedef struct Wanted
{
	const PlhSiteList *list;
	bool		with_context;
	bool		with_query;
	int			drawn;			/* nodes that were checked */
	int			merges;			/* nodes that stand for others */
	int			depth;
	const char *broken;
} Wanted;

/* Does the way of a site go through a node? */
static bool
is_on_way(const Wanted *wanted, const PlhListedSite *listed,
		  const PlhCallNode *node)
{
	for (; node->parent != NULL; node = node->parent)
	{
		const char *module;
		const char *name = name_at(listed, node->depth, wanted->with_context,
								   wanted->with_query, &module);

		if (name == NULL || strcmp(name, node->name) != 0 ||
			(module == NULL) != (node->module == NULL) ||
			(module != NULL && strcmp(module, node->module) != 0))
			return false;
	}
	return true;
}

static void
add_to_sum(PlhCallNode *sum, const PlhListedSite *listed)
{
	sum->width += llabs(plh_listed_site_bytes(listed));
	sum->bytes += plh_listed_site_bytes(listed);
	sum->count += plh_listed_site_count(listed);
	sum->samples += listed->facts.counters->live_samples;
	sum->variance += listed->facts.counters->live_variance;
}

static bool
is_same_sum(const PlhCallNode *left, const PlhCallNode *right)
{
	return left->width == right->width && left->bytes == right->bytes &&
		left->count == right->count && left->samples == right->samples &&
		left->variance == right->variance;
}

/* A node has the sum of the sites below it; its children, of those beyond. */
static void
check_node(Wanted *wanted, const PlhCallNode *node)
{
	PlhCallNode below = {0};
	PlhCallNode beyond = {0};
	PlhCallNode children = {0};
	const char *module;

	wanted->drawn++;
	wanted->depth = Max(wanted->depth, node->depth);
	for (int i = 0; i < wanted->list->count; i++)
	{
		const PlhListedSite *listed = &wanted->list->sites[i];

		if (plh_listed_site_bytes(listed) == 0 || !is_on_way(wanted, listed, node))
			continue;
		add_to_sum(&below, listed);
		if (name_at(listed, node->depth + 1, wanted->with_context,
					wanted->with_query, &module) != NULL)
			add_to_sum(&beyond, listed);
	}
	REQUIRE(wanted->broken, is_same_sum(node, &below));
	for (const PlhCallNode *child = node->first_child; child != NULL;
		 child = child->next)
	{
		children.width += child->width;
		children.bytes += child->bytes;
		children.count += child->count;
		children.samples += child->samples;
		children.variance += child->variance;
		REQUIRE(wanted->broken, child->parent == node);
		REQUIRE(wanted->broken, child->drawn || child->next == NULL);
		REQUIRE(wanted->broken, !child->drawn || child->next == NULL ||
				!child->next->drawn || child->width >= child->next->width);
		wanted->depth = Max(wanted->depth, child->depth);
		if (child->drawn)
			check_node(wanted, child);
		else
			wanted->merges++;
	}
	REQUIRE(wanted->broken, is_same_sum(&children, &beyond));
}

static const char *
check_tree(const PlhSiteList *list, bool with_context, bool with_query,
		   int max_nodes)
{
	PlhCallTree *tree = plh_call_tree_make(list, with_context, with_query,
										   max_nodes);
	Wanted		wanted = {list, with_context, with_query};

	check_node(&wanted, tree->root);
	REQUIRE(wanted.broken, wanted.drawn + wanted.merges <= max_nodes);
	REQUIRE(wanted.broken, wanted.drawn + tree->merged == tree->frames);
	REQUIRE(wanted.broken, (wanted.merges == 0) == (tree->merged == 0));
	REQUIRE(wanted.broken, tree->depth == wanted.depth);
	return wanted.broken;
}

/* The levels of a folded stack, which no name may add to. */
static int
count_levels(const char *stack, const char *end)
{
	int			count = 1;

	for (; stack < end; stack++)
		count += *stack == ';';
	return count;
}

/* Parse folded stacks as flame graph scripts do. */
static const char *
check_folded(const PlhSiteList *list, bool with_context, bool with_query)
{
	int			above = with_context + with_query;
	int64		bytes = 0;
	int64		old_bytes = 0;
	int			lines = 0;
	const char *broken = NULL;
	StringInfoData text;

	initStringInfo(&text);
	plh_flamegraph_append_folded(&text, list, with_context, with_query);
	for (char *line = text.data; *line != '\0'; lines++)
	{
		char	   *end = strchr(line, '\n');
		char	   *blank;
		int			levels;

		if (end == NULL)
			return "each line ends";
		*end = '\0';
		blank = strrchr(line, ' ');
		REQUIRE(broken, blank != NULL);
		if (broken != NULL)
			break;
		bytes += strtoll(blank + 1, NULL, 10);
		*blank = '\0';
		if (list->growth)
		{
			blank = strrchr(line, ' ');
			REQUIRE(broken, blank != NULL);
			if (broken != NULL)
				break;
			old_bytes += strtoll(blank + 1, NULL, 10);
		}
		levels = count_levels(line, blank);
		REQUIRE(broken, levels > above && levels <= above + 6);
		for (const char *c = line; c < end; c++)
			REQUIRE(broken, *c == '\0' || (unsigned char) *c >= ' ');
		line = end + 1;
	}
	for (int i = 0; i < list->count; i++)
	{
		bytes -= list->sites[i].bytes;
		old_bytes -= list->sites[i].old_bytes;
	}
	REQUIRE(broken, bytes == 0 && old_bytes == 0);
	REQUIRE(broken, lines <= list->count);
	return broken;
}

/* Is that function in the stack? */
static bool
has_function(const PlhListedSite *listed, const char *name)
{
	for (int i = 0; i < listed->stack.frame_count; i++)
		if (strcmp(plh_stack_text_function_name(&listed->stack.frames[i]), name) == 0)
			return true;
	return false;
}

/* Functions have what they allocate, and once what is allocated below them. */
static const char *
check_top(const PlhSiteList *list)
{
	int			count;
	PlhTopRow **rows = plh_top_make(list, PLH_TOP_FUNCTION, &count);
	int64		flat_bytes = 0;
	int64		flat_count = 0;
	const char *broken = NULL;

	for (int i = 0; i < count; i++)
	{
		int64		cum_bytes = 0;

		flat_bytes += rows[i]->flat_bytes;
		flat_count += rows[i]->flat_count;
		for (int j = 0; j < list->count; j++)
			if (has_function(&list->sites[j], rows[i]->name))
				cum_bytes += plh_listed_site_bytes(&list->sites[j]);
		REQUIRE(broken, rows[i]->cum_bytes == cum_bytes);
	}
	for (int i = 0; i < list->count; i++)
	{
		flat_bytes -= plh_listed_site_bytes(&list->sites[i]);
		flat_count -= plh_listed_site_count(&list->sites[i]);
	}
	REQUIRE(broken, flat_bytes == 0 && flat_count == 0);
	return broken;
}

/* A number of a message in the form of protocol buffers. */
static uint64
take_varint(const char **place, const char *end)
{
	uint64		value = 0;

	for (int shift = 0; *place < end && shift < 64; shift += 7)
	{
		unsigned char byte = *(*place)++;

		value |= (uint64) (byte & 0x7F) << shift;
		if (byte < 0x80)
			break;
	}
	return value;
}

/* The sums over the samples of a profile, and how many of these there are. */
typedef struct PprofSums
{
	int64		values[PLH_PPROF_VALUES];	/* in the order of the profile */
	int			samples;
	int			zeros;			/* samples with no value but 0 */
	uint64		last_size;		/* of the second value of the last sample */
	int			last_larger;	/* the last sample that is larger than the one
								 * before it; 0: none */
} PprofSums;

/* Add the values of a sample. */
static void
add_sample(PprofSums *sums, const char *place, const char *end)
{
	int			count = 0;
	bool		has_value = false;
	uint64		size = 0;

	while (place < end)
	{
		uint64		key = take_varint(&place, end);
		uint64		value = take_varint(&place, end);

		if (key == 2 << 3 && count < PLH_PPROF_VALUES)
		{
			if (count == 1)
				size = (int64) value < 0 ? -value : value;
			sums->values[count++] += (int64) value;
			has_value = has_value || value != 0;
		}
		else if ((key & 7) == 2)
			place += value;
	}
	if (sums->samples > 0 && size > sums->last_size)
		sums->last_larger = sums->samples;
	sums->last_size = size;
	sums->samples++;
	sums->zeros += !has_value;
}

/* Add up the samples of a profile, all of which can be parsed. */
static const char *
read_pprof(PprofSums *sums, const char *place, const char *end)
{
	const char *broken = NULL;

	memset(sums, 0, sizeof(*sums));
	while (place < end && broken == NULL)
	{
		uint64		key = take_varint(&place, end);
		uint64		value = take_varint(&place, end);

		REQUIRE(broken, (key & 7) == 0 ||
				((key & 7) == 2 && value <= end - place));
		if (key == (2 << 3 | 2))
			add_sample(sums, place, place + value);
		if ((key & 7) == 2 && broken == NULL)
			place += value;
	}
	return broken;
}

/* Some choice of what a profile is to have. */
static PlhPprofOptions
random_options(pg_prng_state *prng)
{
	PlhPprofOptions options = {
		.types = PLH_PPROF_INUSE,
		.labels = random_below(prng, 1 << PLH_PPROF_LABELS),
		.symbolize = random_below(prng, 2),
		.helpers = random_below(prng, 2)
	};

	if (random_below(prng, 2) == 0)
		options.max_samples = 1 + random_below(prng, 30);
	if (random_below(prng, 2) == 0)
		options.max_bytes = PLH_PPROF_MIN_BYTES + random_below(prng, 4096);
	return options;
}

/*
 * The samples of a profile for pprof add up, whatever is asked for, and are no larger
 * and no more than they may be.
 */
static const char *
check_pprof(const PlhSiteList *list, pg_prng_state *prng)
{
	PlhPprofOptions options = random_options(prng);
	StringInfoData text;
	PprofSums	sums;
	const char *broken;
	bool		limited = options.max_samples > 0 || options.max_bytes > 0;

	initStringInfo(&text);
	plh_pprof_append(&text, list, &options);
	broken = read_pprof(&sums, text.data, text.data + text.len);
	for (int i = 0; i < list->count; i++)
	{
		sums.values[0] -= plh_listed_site_count(&list->sites[i]);
		sums.values[1] -= plh_listed_site_bytes(&list->sites[i]);
	}
	REQUIRE(broken, sums.values[0] == 0 && sums.values[1] == 0);
	REQUIRE(broken, sums.samples <= list->count);
	REQUIRE(broken, sums.zeros == 0);

	/* the largest come first; the last may stand for all that had no room */
	REQUIRE(broken, sums.last_larger == 0 ||
			(limited && sums.last_larger == sums.samples - 1));
	REQUIRE(broken, options.max_samples == 0 ||
			sums.samples <= options.max_samples);
	REQUIRE(broken, options.max_bytes == 0 || text.len <= options.max_bytes);
	return broken;
}

/* A profile for the sites of a list, which pprof is told about. */
static void
set_image(PlhSiteList *list, const PlhProfileImage *image)
{
	list->image = image;
	for (int i = 0; i < list->count; i++)
		list->sites[i].image = image;
}

/* Times are in the largest unit of which there are two. */
static void
test_durations(void)
{
	ok(strcmp(plh_words_duration(0, 119 * USECS_PER_SEC), "119 s") == 0 &&
	   strcmp(plh_words_duration(0, 120 * USECS_PER_SEC), "2 min") == 0,
	   "below two minutes, times are in seconds");
	ok(strcmp(plh_words_duration(0, 119 * USECS_PER_MINUTE), "119 min") == 0 &&
	   strcmp(plh_words_duration(0, 2 * USECS_PER_HOUR), "2 h") == 0,
	   "below two hours, times are in minutes");
}

void
test_pictures(void)
{
	static const int max_nodes[] = {2, 3, 4, 7, 10, 30, 100, 1000};
	PlhProfileHeader *header = make_profile(1, SEED);
	PlhProfileImage image = {.crashed = true};
	const char *tree = NULL;
	const char *folded = NULL;
	const char *top = NULL;
	const char *pprof = NULL;
	pg_prng_state prng;

	forget_memory();
	plh_profile_image_adopt(&image, header, header->used_bytes);
	pg_prng_seed(&prng, SEED);
	for (int i = 0; i < rounds(400); i++)
	{
		PlhSiteList *list = random_list(&prng);
		bool		with_context = random_below(&prng, 2);
		bool		with_query = random_below(&prng, 2);

		try_begins("pictures", SEED, i);
		set_image(list, &image);
		if (tree == NULL)
			tree = check_tree(list, with_context, with_query,
							  max_nodes[i % lengthof(max_nodes)]);
		if (folded == NULL)
			folded = check_folded(list, with_context, with_query);
		if (top == NULL)
			top = check_top(list);
		if (pprof == NULL)
			pprof = check_pprof(list, &prng);
		forget_memory();
	}
	try_begins(NULL, 0, 0);
	ok_unbroken(tree, "trees of calls add up, whatever is merged");
	ok_unbroken(folded, "folded stacks add up, and no name breaks a line");
	ok_unbroken(top, "sums over functions add up");
	ok_unbroken(pprof, "profiles for pprof add up, and keep to their limits");
	free(header);
	test_durations();
}
