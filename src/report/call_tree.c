/*
 * call_tree.c
 *	  Merges a list of sites into a tree of callers and callees, for flame graphs.
 *
 * Functions are merged by name and module.  When growth is drawn, a node's width is the sum of the
 * absolute changes below it.  Only the widest nodes are drawn, so that a tree has a bounded size.
 * The other children of a parent become one node with the sums of their figures, so that no byte is
 * left out.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"

#include "base/hash_seed.h"
#include "reader/database_text.h"
#include "base/plural.h"
#include "report/call_tree.h"
#include "report/listed_site.h"

/* A node narrower than one part in this many of the whole is not drawn. */
#define NARROWEST_PART 10000

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
	uint32		hash;			/* of the key, for simplehash.h */
	char		status;			/* for simplehash.h */
} NodeEntry;

/* Names may be statements, which others choose: so the hash begins with a seed. */
static uint32
hash_key(NodeKey key, uint64 seed)
{
	uint64		hash = hash_bytes_extended((const unsigned char *) &key.parent,
										   sizeof(PlhCallNode *), seed);

	return (uint32) plh_text_hash(key.module, plh_text_hash(key.name, hash));
}

static bool
is_same_key(NodeKey left, NodeKey right)
{
	return left.parent == right.parent &&
		plh_texts_are_same(left.name, right.name) && plh_texts_are_same(left.module, right.module);
}

#define SH_PREFIX nodes
#define SH_ELEMENT_TYPE NodeEntry
#define SH_KEY_TYPE NodeKey
#define SH_KEY key
#define SH_HASH_KEY(table, key) \
	hash_key(key, (uintptr_t) (table)->private_data)
#define SH_EQUAL(table, a, b) is_same_key(a, b)
#define SH_STORE_HASH
#define SH_GET_HASH(table, element) (element)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

static PlhCallNode *
make_node(PlhCallNode *parent, const char *name)
{
	PlhCallNode *node = palloc0(sizeof(PlhCallNode));

	node->parent = parent;
	node->name = name;
	if (parent != NULL)
	{
		node->depth = parent->depth + 1;
		node->next = parent->first_child;
		parent->first_child = node;
	}
	return node;
}

static PlhCallNode *
find_child(nodes_hash *nodes, PlhCallNode *parent, const char *name, const char *module)
{
	NodeKey		key = {parent, name, module};
	bool		found;
	NodeEntry  *entry = nodes_insert(nodes, key, &found);

	if (!found)
	{
		entry->node = make_node(parent, name);
		entry->node->module = module;
	}
	return entry->node;
}

static void
count_site(PlhCallNode *node, const PlhListedSite *listed)
{
	const PlhCounters *counters = listed->facts.counters;

	node->width += llabs(plh_listed_site_bytes(listed));
	node->bytes += plh_listed_site_bytes(listed);
	node->count += plh_listed_site_count(listed);
	node->samples += counters->live_samples;
	node->variance += counters->live_variance;
}

/* Note the line of a frame; a node in which several lines call has none. */
static void
note_line(PlhCallNode *node, const PlhFrameText *frame)
{
	if (node->width == 0)
	{
		node->file = frame->file;
		node->line = frame->line;
	}
	else if (node->line != frame->line || !plh_texts_are_same(node->file, frame->file))
		node->line = 0;
}

/* Add a site to the tree of a node, from the outermost function on. */
static void
add_site(nodes_hash *nodes, PlhCallNode *node, const PlhListedSite *listed,
		 bool with_context, bool with_query)
{
	if (plh_listed_site_bytes(listed) == 0)
		return;
	count_site(node, listed);
	if (with_context)
	{
		node = find_child(nodes, node, plh_listed_site_context(listed), NULL);
		count_site(node, listed);
	}
	if (with_query)
	{
		node = find_child(nodes, node, plh_listed_site_statement(listed), NULL);
		count_site(node, listed);
	}
	for (int i = listed->stack.frame_count - 1; i >= 0; i--)
	{
		const PlhFrameText *frame = &listed->stack.frames[i];

		/* a frame that only says that there is no stack has no module */
		node = find_child(nodes, node, plh_stack_text_function_name(frame),
						  frame->module == NULL && frame->text[0] == '[' ? NULL :
						  plh_stack_text_module_name(frame));
		node->part = plh_blamed_code_part(frame);
		note_line(node, frame);
		count_site(node, listed);
	}
}

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

	for (PlhCallNode *child = parent->first_child; child != NULL; child = child->next)
		count++;
	if (count == 0)
		return;
	children = palloc_extended(sizeof(PlhCallNode *) * count, MCXT_ALLOC_HUGE);
	count = 0;
	for (PlhCallNode *child = parent->first_child; child != NULL; child = child->next)
		children[count++] = child;
	qsort(children, count, sizeof(PlhCallNode *), compare_widths);
	for (int i = 0; i < count; i++)
		children[i]->next = i + 1 < count ? children[i + 1] : NULL;
	parent->first_child = children[0];
	pfree(children);
}

/* For the heap: the wider node first, among equals the one higher up. */
static int
compare_candidates(Datum a, Datum b, void *arg)
{
	const PlhCallNode *left = (const PlhCallNode *) DatumGetPointer(a);
	const PlhCallNode *right = (const PlhCallNode *) DatumGetPointer(b);

	if (left->width != right->width)
		return left->width < right->width ? -1 : 1;
	return right->depth - left->depth;
}

/* Make a node a candidate for drawing, if there is one and it is wide enough. */
static void
add_candidate(binaryheap *candidates, PlhCallNode *node, int64 min_width)
{
	if (node != NULL && node->width >= min_width)
		binaryheap_add(candidates, PointerGetDatum(node));
}

/*
 * Choose the nodes that are drawn, at most "room": the widest.  A parent is drawn before its
 * children, as it can't be narrower.
 */
static void
choose_drawn(PlhCallNode *root, int room)
{
	int64		min_width = Max(root->width / NARROWEST_PART, 1);
	binaryheap *candidates = binaryheap_allocate(room + 1, compare_candidates, NULL);

	binaryheap_add(candidates, PointerGetDatum(root));
	for (; room > 0 && !binaryheap_empty(candidates); room--)
	{
		PlhCallNode *node = (PlhCallNode *) DatumGetPointer(binaryheap_remove_first(candidates));

		CHECK_FOR_INTERRUPTS();
		Assert(node->parent == NULL || node->parent->drawn);
		node->drawn = true;
		sort_children(node);

		/* siblings are sorted: only the next can be the widest of the rest */
		add_candidate(candidates, node->first_child, min_width);
		add_candidate(candidates, node->next, min_width);
	}
	binaryheap_free(candidates);
}

static int
count_all(const PlhCallNode *node)
{
	int			count = 1;

	CHECK_FOR_INTERRUPTS();
	check_stack_depth();
	for (const PlhCallNode *child = node->first_child; child != NULL; child = child->next)
		count += count_all(child);
	return count;
}

/* Make the node that stands for siblings and for all nodes below them. */
static PlhCallNode *
merge_nodes(PlhCallTree *tree, const PlhCallNode *nodes)
{
	PlhCallNode *sum = make_node(NULL, NULL);
	int			merged = 0;

	for (const PlhCallNode *node = nodes; node != NULL; node = node->next)
	{
		sum->width += node->width;
		sum->bytes += node->bytes;
		sum->count += node->count;
		sum->samples += node->samples;
		sum->variance += node->variance;
		merged += count_all(node);
	}
	sum->parent = nodes->parent;
	sum->depth = nodes->depth;
	sum->name = psprintf("[%d narrow %s]", merged, plh_plural(merged, "frame", "frames"));
	tree->merged += merged;
	return sum;
}

/* Merge the children that are not drawn, of this node and of those below it. */
static void
merge_narrow(PlhCallTree *tree, PlhCallNode *parent)
{
	PlhCallNode **link = &parent->first_child;

	CHECK_FOR_INTERRUPTS();
	check_stack_depth();
	tree->depth = Max(tree->depth, parent->depth);
	for (; *link != NULL && (*link)->drawn; link = &(*link)->next)
		merge_narrow(tree, *link);
	if (*link == NULL)
		return;
	tree->depth = Max(tree->depth, parent->depth + 1);
	/* a single node without children takes no more room than the merged one */
	if ((*link)->next == NULL && (*link)->first_child == NULL)
		(*link)->drawn = true;
	else
		*link = merge_nodes(tree, *link);
}

PlhCallTree *
plh_call_tree_make(const PlhSiteList *list, bool with_context, bool with_query, int max_nodes)
{
	PlhCallTree *tree = palloc0(sizeof(PlhCallTree));
	nodes_hash *nodes = nodes_create(CurrentMemoryContext, 4096,
									 (void *) (uintptr_t) plh_hash_seed_draw());

	Assert(max_nodes >= 2);
	tree->root = make_node(NULL, "all");
	for (int i = 0; i < list->count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		add_site(nodes, tree->root, &list->sites[i], with_context, with_query);
	}
	tree->frames = 1 + (int) nodes->members;
	choose_drawn(tree->root, max_nodes / 2);
	merge_narrow(tree, tree->root);
	nodes_destroy(nodes);
	return tree;
}
