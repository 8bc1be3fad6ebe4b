/*
 * call_tree.c
 *	  A list of call sites merged into a tree of who calls whom: what a flame
 *	  graph is drawn from.
 *
 * Functions are merged by name and binary.  In a tree of growth a node is as
 * wide as what has changed below it, up or down.  Nodes too narrow to be seen
 * become one for each parent, so that a tree has a bounded size; their figures
 * are in it.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "call_tree.h"
#include "top.h"

/* What tells the children of a node apart. */
typedef struct NodeKey
{
	PlhCallNode *parent;
	const char *name;
	const char *module;
} NodeKey;

typedef struct NodeEntry
{
	NodeKey		key;
	PlhCallNode *node;
} NodeEntry;

/* A tree in the making. */
typedef struct Builder
{
	PlhCallTree *tree;
	HTAB	   *nodes;
} Builder;

static uint32
hash_text(const char *text)
{
	return text == NULL ? 0 :
		hash_bytes((const unsigned char *) text, strlen(text));
}

static uint32
hash_key(const void *key, Size keysize)
{
	const NodeKey *node_key = key;
	uint32		hash = hash_bytes((const unsigned char *) &node_key->parent,
								  sizeof(PlhCallNode *));

	return hash_combine(hash_combine(hash, hash_text(node_key->name)),
						hash_text(node_key->module));
}

static bool
is_same_text(const char *left, const char *right)
{
	return left == right ||
		(left != NULL && right != NULL && strcmp(left, right) == 0);
}

static int
compare_keys(const void *a, const void *b, Size keysize)
{
	const NodeKey *left = a;
	const NodeKey *right = b;

	return left->parent == right->parent &&
		is_same_text(left->name, right->name) &&
		is_same_text(left->module, right->module) ? 0 : 1;
}

static PlhCallNode *
make_node(PlhCallNode *parent, const char *name)
{
	PlhCallNode *node = palloc0(sizeof(PlhCallNode));

	node->parent = parent;
	node->name = name;
	if (parent != NULL)
	{
		node->next = parent->first_child;
		parent->first_child = node;
	}
	return node;
}

/* The child of a node with that name in that binary, made if need be. */
static PlhCallNode *
find_child(Builder *builder, PlhCallNode *parent, const char *name,
		   const char *module)
{
	NodeKey		key = {parent, name, module};
	bool		found;
	NodeEntry  *entry = hash_search(builder->nodes, &key, HASH_ENTER, &found);

	if (!found)
	{
		entry->node = make_node(parent, name);
		entry->node->module = module;
	}
	return entry->node;
}

/* Count a site for a node that is in its stack. */
static void
count_site(PlhCallNode *node, const PlhListedSite *listed)
{
	const PlhCounters *counters = &listed->site->counters;

	node->width += llabs(plh_listed_bytes(listed));
	node->bytes += plh_listed_bytes(listed);
	node->count += plh_listed_count(listed);
	node->samples += counters->live_samples;
	node->variance += counters->live_variance;
}

/* Note the line of a frame; a node that is called from several has none. */
static void
note_line(PlhCallNode *node, const PlhFrameText *frame)
{
	if (node->width == 0)
	{
		node->file = frame->file;
		node->line = frame->line;
	}
	else if (node->line != frame->line || !is_same_text(node->file, frame->file))
		node->line = 0;
}

/* Add a site to the tree, from the outermost function on. */
static void
add_site(Builder *builder, const PlhListedSite *listed, bool with_context,
		 bool with_query)
{
	PlhCallNode *node = builder->tree->root;

	if (plh_listed_bytes(listed) == 0)
		return;
	count_site(node, listed);
	if (with_context)
	{
		node = find_child(builder, node, listed->context_name != NULL ?
						  listed->context_name : "[no context]", NULL);
		count_site(node, listed);
	}
	if (with_query)
	{
		node = find_child(builder, node, listed->query != NULL ?
						  listed->query : "[no statement]", NULL);
		count_site(node, listed);
	}
	for (int i = listed->stack.frame_count - 1; i >= 0; i--)
	{
		const PlhFrameText *frame = &listed->stack.frames[i];

		node = find_child(builder, node, plh_top_function_name(frame),
						  plh_top_module_name(frame));
		note_line(node, frame);
		count_site(node, listed);
	}
}

/* Sort the children of a node, and theirs, the widest first. */
static int
compare_widths(const void *a, const void *b)
{
	const PlhCallNode *left = *(PlhCallNode *const *) a;
	const PlhCallNode *right = *(PlhCallNode *const *) b;

	if (left->width != right->width)
		return left->width < right->width ? 1 : -1;
	return strcmp(left->name, right->name);
}

static void
sort_children(PlhCallNode *parent)
{
	PlhCallNode **children;
	int			count = 0;

	check_stack_depth();
	for (PlhCallNode *child = parent->first_child; child != NULL;
		 child = child->next)
		count++;
	if (count == 0)
		return;
	children = palloc(sizeof(PlhCallNode *) * count);
	count = 0;
	for (PlhCallNode *child = parent->first_child; child != NULL;
		 child = child->next)
		children[count++] = child;
	qsort(children, count, sizeof(PlhCallNode *), compare_widths);
	for (int i = 0; i < count; i++)
	{
		children[i]->next = i + 1 < count ? children[i + 1] : NULL;
		sort_children(children[i]);
	}
	parent->first_child = children[0];
	pfree(children);
}

/* How many frames are at least that wide? */
static int
count_wide(const PlhCallNode *node, int64 min_width)
{
	int			count = 1;

	check_stack_depth();
	if (node->width < min_width)
		return 0;
	for (const PlhCallNode *child = node->first_child; child != NULL;
		 child = child->next)
		count += count_wide(child, min_width);
	return count;
}

/* Frames in the part of the tree that begins with a node. */
static int
count_all(const PlhCallNode *node)
{
	int			count = 1;

	check_stack_depth();
	for (const PlhCallNode *child = node->first_child; child != NULL;
		 child = child->next)
		count += count_all(child);
	return count;
}

/* Choose what is too narrow to be drawn: a ten-thousandth, or more. */
static void
choose_min_width(Builder *builder, int max_nodes)
{
	builder->tree->min_width = Max(builder->tree->root->width / 10000, 1);
	while (count_wide(builder->tree->root, builder->tree->min_width) > max_nodes)
		builder->tree->min_width *= 2;
}

/* Make one frame of the narrow ones of a node, if that one is wide enough. */
static void
merge_narrow(Builder *builder, PlhCallNode *parent, int depth)
{
	PlhCallNode **link = &parent->first_child;
	PlhCallNode *rest;
	PlhCallNode sum = {0};

	check_stack_depth();
	builder->tree->depth = Max(builder->tree->depth, depth);
	for (; *link != NULL && (*link)->width >= builder->tree->min_width;
		 link = &(*link)->next)
		merge_narrow(builder, *link, depth + 1);

	for (PlhCallNode *node = *link; node != NULL; node = node->next)
	{
		sum.width += node->width;
		sum.bytes += node->bytes;
		sum.count += node->count;
		sum.samples += node->samples;
		sum.variance += node->variance;
		sum.merged += count_all(node);
	}
	*link = NULL;
	builder->tree->merged += sum.merged;
	if (sum.width < builder->tree->min_width)
		return;
	sum.parent = parent;
	sum.name = psprintf("[%d narrow frames]", sum.merged);
	rest = palloc(sizeof(PlhCallNode));
	*rest = sum;
	*link = rest;
	builder->tree->depth = Max(builder->tree->depth, depth + 1);
}

/*
 * Make the tree of a list, if wanted with memory contexts and statements as the
 * first levels.  At most "max_nodes" stay, besides one for the narrow ones of
 * each.
 */
PlhCallTree *
plh_call_tree_make(const PlhSiteList *list, bool with_context,
				   bool with_query, int max_nodes)
{
	HASHCTL		control = {
		.keysize = sizeof(NodeKey),
		.entrysize = sizeof(NodeEntry),
		.hash = hash_key,
		.match = compare_keys,
		.hcxt = CurrentMemoryContext
	};
	Builder		builder;

	builder.tree = palloc0(sizeof(PlhCallTree));
	builder.tree->root = make_node(NULL, "all");
	builder.nodes = hash_create("pg_leakhunt call tree", 4096, &control,
								HASH_ELEM | HASH_FUNCTION | HASH_COMPARE |
								HASH_CONTEXT);
	for (int i = 0; i < list->count; i++)
		add_site(&builder, &list->sites[i], with_context, with_query);
	sort_children(builder.tree->root);
	choose_min_width(&builder, max_nodes);
	merge_narrow(&builder, builder.tree->root, 0);
	hash_destroy(builder.nodes);
	return builder.tree;
}
