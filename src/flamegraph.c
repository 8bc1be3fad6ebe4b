/*
 * flamegraph.c
 *	  A list of call sites as a picture: one interactive SVG that needs nothing
 *	  else.
 *
 * Frames are merged by function and binary into a tree, the outermost at the
 * top, so that a deep stack elsewhere does not push the wide ones away.  Each is an <svg>
 * element of its own, placed in percent, so that the picture is as wide as its
 * window and names are cut at their frames without a script; the script
 * (flamegraph.js) zooms and searches.  The text of the picture is ASCII, what
 * is not being character references: no name can break out, and the client's
 * encoding does not matter.
 *
 * In a picture of growth widths are sums of what has changed, up or down.
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "database_text.h"
#include "flamegraph.h"
#include "sampling.h"
#include "top.h"

#include "flamegraph_script.h"

#define ROW_HEIGHT 18
#define HEADER_HEIGHT 124
#define FOOTER_HEIGHT 10

/* A picture has at most so many frames; narrower ones are merged. */
#define MAX_FRAMES 5000

/* Binaries that have an entry in the legend. */
#define MAX_LEGEND 8

/* A function in the tree, called by its parent. */
typedef struct CallNode
{
	struct CallNode *parent;
	struct CallNode *first_child;
	struct CallNode *next;			/* of the same parent, the widest first */
	const char *name;
	const char *module;			/* NULL for the root, contexts and queries */
	const char *file;			/* where it is called from there; NULL = unknown */
	int			line;			/* 0 = not known, or several */
	int64		width;			/* sum of what the picture shows, >= 0 */
	int64		bytes;			/* live, or growth */
	int64		count;
	int64		samples;
	double		variance;
	int			merged;			/* so many narrow frames are this one; else 0 */
} CallNode;

/* What tells the children of a node apart. */
typedef struct NodeKey
{
	CallNode	   *parent;
	const char *name;
	const char *module;
} NodeKey;

typedef struct NodeEntry
{
	NodeKey		key;
	CallNode	   *node;
} NodeEntry;

typedef struct Picture
{
	StringInfo	output;
	const PlhSiteList *list;
	HTAB	   *nodes;
	CallNode	   *root;
	int64		min_width;		/* narrower frames are merged */
	int			merged;			/* frames that will not */
	int			depth;			/* of the drawn ones */
	const char *modules[MAX_LEGEND];
	int			module_count;
} Picture;

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
								  sizeof(CallNode *));

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

static CallNode *
make_node(CallNode *parent, const char *name)
{
	CallNode	   *node = palloc0(sizeof(CallNode));

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
static CallNode *
find_child(Picture *picture, CallNode *parent, const char *name,
		   const char *module)
{
	NodeKey		key = {parent, name, module};
	bool		found;
	NodeEntry  *entry = hash_search(picture->nodes, &key, HASH_ENTER, &found);

	if (!found)
	{
		entry->node = make_node(parent, name);
		entry->node->module = module;
	}
	return entry->node;
}

/* Count a site for a node that is in its stack. */
static void
count_site(CallNode *node, const PlhListedSite *listed)
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
note_line(CallNode *node, const PlhFrameText *frame)
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
add_site(Picture *picture, const PlhListedSite *listed, bool with_context,
		 bool with_query)
{
	CallNode	   *node = picture->root;

	if (plh_listed_bytes(listed) == 0)
		return;
	count_site(node, listed);
	if (with_context)
	{
		node = find_child(picture, node, listed->context_name != NULL ?
						  listed->context_name : "[no context]", NULL);
		count_site(node, listed);
	}
	if (with_query)
	{
		node = find_child(picture, node, listed->query != NULL ?
						  listed->query : "[no statement]", NULL);
		count_site(node, listed);
	}
	for (int i = listed->stack.frame_count - 1; i >= 0; i--)
	{
		const PlhFrameText *frame = &listed->stack.frames[i];

		node = find_child(picture, node, plh_top_function_name(frame),
						  plh_top_module_name(frame));
		note_line(node, frame);
		count_site(node, listed);
	}
}

/* Sort the children of a node, and theirs, the widest first. */
static int
compare_widths(const void *a, const void *b)
{
	const CallNode *left = *(CallNode *const *) a;
	const CallNode *right = *(CallNode *const *) b;

	if (left->width != right->width)
		return left->width < right->width ? 1 : -1;
	return strcmp(left->name, right->name);
}

static void
sort_children(CallNode *parent)
{
	CallNode	  **children;
	int			count = 0;

	check_stack_depth();
	for (CallNode *child = parent->first_child; child != NULL; child = child->next)
		count++;
	if (count == 0)
		return;
	children = palloc(sizeof(CallNode *) * count);
	count = 0;
	for (CallNode *child = parent->first_child; child != NULL; child = child->next)
		children[count++] = child;
	qsort(children, count, sizeof(CallNode *), compare_widths);
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
count_wide(const CallNode *node, int64 min_width)
{
	int			count = 1;

	check_stack_depth();
	if (node->width < min_width)
		return 0;
	for (const CallNode *child = node->first_child; child != NULL;
		 child = child->next)
		count += count_wide(child, min_width);
	return count;
}

/* Frames in the part of the tree that begins with a node. */
static int
count_all(const CallNode *node)
{
	int			count = 1;

	check_stack_depth();
	for (const CallNode *child = node->first_child; child != NULL;
		 child = child->next)
		count += count_all(child);
	return count;
}

/* Choose what is too narrow to be drawn: a ten-thousandth, or more. */
static void
choose_min_width(Picture *picture)
{
	picture->min_width = Max(picture->root->width / 10000, 1);
	while (count_wide(picture->root, picture->min_width) > MAX_FRAMES)
		picture->min_width *= 2;
}

/* Make one frame of the narrow ones of a node, if that one is wide enough. */
static void
merge_narrow(Picture *picture, CallNode *parent, int depth)
{
	CallNode	  **link = &parent->first_child;
	CallNode	   *rest;
	CallNode		sum = {0};

	check_stack_depth();
	picture->depth = Max(picture->depth, depth);
	for (; *link != NULL && (*link)->width >= picture->min_width;
		 link = &(*link)->next)
		merge_narrow(picture, *link, depth + 1);

	for (CallNode *node = *link; node != NULL; node = node->next)
	{
		sum.width += node->width;
		sum.bytes += node->bytes;
		sum.count += node->count;
		sum.samples += node->samples;
		sum.variance += node->variance;
		sum.merged += count_all(node);
	}
	*link = NULL;
	picture->merged += sum.merged;
	if (sum.width < picture->min_width)
		return;
	sum.parent = parent;
	sum.name = psprintf("[%d narrow frames]", sum.merged);
	rest = palloc(sizeof(CallNode));
	*rest = sum;
	*link = rest;
	picture->depth = Max(picture->depth, depth + 1);
}

/* Append text as XML in ASCII. */
static void
append_xml(StringInfo output, const char *text)
{
	const unsigned char *c = (const unsigned char *) plh_text_as_utf8(text);

	while (*c != '\0')
	{
		pg_wchar	code = utf8_to_unicode(c);

		/* XML has no way to say control characters */
		if (code == '\n')
			appendStringInfoString(output, "&#10;");
		else if (code < ' ' || code == 0x7F || code == 0xFFFE ||
				 code == 0xFFFF)
			appendStringInfoString(output, "&#xFFFD;");
		else if (code > 0x7F || strchr("<>&\"'", (int) code) != NULL)
			appendStringInfo(output, "&#x%X;", (unsigned) code);
		else
			appendStringInfoChar(output, (char) code);
		c += pg_utf_mblen(c);
	}
}

/* Bytes as people read them, with a sign where it is growth. */
static char *
pretty_bytes(int64 bytes, bool growth)
{
	static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
	double		value = fabs((double) bytes);
	int			unit = 0;

	while (value >= 10240 && unit < lengthof(units) - 1)
	{
		value /= 1024;
		unit++;
	}
	if (value >= 1024 && unit == 0)
	{
		value /= 1024;
		unit++;
	}
	return psprintf(unit == 0 ? "%s%.0f %s" : "%s%.1f %s",
					bytes < 0 ? "-" : growth && bytes > 0 ? "+" : "",
					value, units[unit]);
}

/* The place in the legend of a binary, which gets one if there is room. */
static int
module_number(Picture *picture, const char *module)
{
	for (int i = 0; i < picture->module_count; i++)
	{
		if (strcmp(picture->modules[i], module) == 0)
			return i;
	}
	if (picture->module_count == MAX_LEGEND)
		return MAX_LEGEND;
	picture->modules[picture->module_count] = module;
	return picture->module_count++;
}

/* The colours of binaries, by place in the legend; the last is for the rest. */
static const char *const module_colours[MAX_LEGEND + 1] = {
	"#f2a65a", "#7fb7e8", "#9bd18b", "#e58b8b", "#c6a6e8", "#e8d26a",
	"#8fd3cf", "#e8a9cf", "#c9c9c9"
};

/* Red grew, blue shrank, pale where one nearly outweighs the other. */
static char *
growth_colour(const CallNode *node)
{
	double		part = node->width == 0 ? 0 : (double) node->bytes / node->width;
	int			pale = 235 - (int) (150 * fabs(part));

	if (part >= 0)
		return psprintf("#%02x%02x%02x", 240, pale, pale);
	return psprintf("#%02x%02x%02x", pale, pale, 245);
}

static const char *
node_colour(Picture *picture, const CallNode *node)
{
	if (picture->list->growth)
		return growth_colour(node);
	if (node->module == NULL)
		return "#dcdcdc";
	return module_colours[module_number(picture, node->module)];
}

/* What a pointer on the frame is told. */
static void
append_tooltip(Picture *picture, const CallNode *node)
{
	bool		growth = picture->list->growth;
	double		error = plh_sampling_error_bytes(node->variance, node->bytes,
												 node->samples);
	const char *slash = node->file != NULL ? strrchr(node->file, '/') : NULL;
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoString(&text, node->name);
	if (node->line > 0)
		appendStringInfo(&text, " (%s:%d)",
						 slash != NULL ? slash + 1 : node->file, node->line);
	appendStringInfo(&text, "\n%s in %lld objects, %.2f%%",
					 pretty_bytes(node->bytes, growth),
					 (long long) node->count,
					 100.0 * node->width / Max(picture->root->width, 1));
	if (!growth && error > 0)
		appendStringInfo(&text, ", +/- %s",
						 pretty_bytes((int64) error, false));
	if (node->module != NULL)
		appendStringInfo(&text, "\n%s", node->module);
	append_xml(picture->output, text.data);
}

/* A frame and what it calls, below it; x is where it begins, in units of bytes. */
static void
append_frame(Picture *picture, const CallNode *node, int64 x, int depth)
{
	double		total = Max(picture->root->width, 1);
	int			y = HEADER_HEIGHT + depth * ROW_HEIGHT;

	CHECK_FOR_INTERRUPTS();
	check_stack_depth();
	appendStringInfo(picture->output,
					 "<svg class=\"frame\" x=\"%.4f%%\" y=\"%d\" width=\"%.4f%%\" height=\"%d\" data-x=\"%.0f\" data-w=\"%.0f\" data-d=\"%d\" tabindex=\"-1\"><title>",
					 100.0 * x / total, y, 100.0 * node->width / total,
					 ROW_HEIGHT - 1, 1e9 * x / total,
					 1e9 * node->width / total, depth);
	append_tooltip(picture, node);
	appendStringInfo(picture->output,
					 "</title><rect width=\"100%%\" height=\"100%%\" fill=\"%s\"/><text x=\"4\" y=\"13\">",
					 node_colour(picture, node));
	append_xml(picture->output, pnstrdup(node->name, pg_mbcliplen(node->name, strlen(node->name), 200)));
	appendStringInfoString(picture->output, "</text></svg>\n");
	for (const CallNode *child = node->first_child; child != NULL;
		 child = child->next)
	{
		append_frame(picture, child, x, depth + 1);
		x += child->width;
	}
}

/* The facts above the picture. */
static void
append_facts(Picture *picture)
{
	const PlhSiteList *list = picture->list;
	const PlhProfileHeader *header = list->image->header;
	StringInfo	output = picture->output;

	appendStringInfoString(output, "<text class=\"title\" x=\"10\" y=\"24\">");
	append_xml(output, psprintf("%s %d: %s %s",
								plh_profile_reader_backend_type(list->image),
								header->pid,
								pretty_bytes(picture->root->bytes, list->growth),
								list->growth ? "of growth" : "live"));
	appendStringInfoString(output, "</text>\n<text x=\"10\" y=\"44\">");
	append_xml(output, psprintf("%lld objects, %s, one sample in %s, %s%s",
								(long long) picture->root->count,
								timestamptz_to_str(list->at),
								pretty_bytes(header->sample_interval, false),
								header->scope == 0 ? "long-lived contexts" :
								"all contexts",
								picture->merged > 0 ?
								psprintf("; %d frames narrower than %.2g%% are merged",
										 picture->merged,
										 100.0 * picture->min_width /
										 Max(picture->root->width, 1)) : ""));
	appendStringInfoString(output, "</text>\n");
}

static void
append_legend_entry(StringInfo output, int *x, const char *colour,
					const char *text)
{
	appendStringInfo(output,
					 "<rect x=\"%d\" y=\"55\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"%d\" y=\"65\">",
					 *x, colour, *x + 17);
	append_xml(output, text);
	appendStringInfoString(output, "</text>\n");
	*x += 17 + 7 * strlen(text) + 16;
}

/* What the colours mean; after the frames, which choose them. */
static void
append_legend(Picture *picture)
{
	int			x = 10;

	if (picture->list->growth)
	{
		append_legend_entry(picture->output, &x, "#f05555", "grew");
		append_legend_entry(picture->output, &x, "#5555f5", "shrank");
		append_legend_entry(picture->output, &x, "#f0ebeb", "both, about as much");
		return;
	}
	for (int i = 0; i < picture->module_count; i++)
		append_legend_entry(picture->output, &x, module_colours[i],
							picture->modules[i]);
	if (picture->module_count == MAX_LEGEND)
		append_legend_entry(picture->output, &x, module_colours[MAX_LEGEND],
							"others");
}

static void
append_style(StringInfo output)
{
	appendStringInfoString(output,
						   "<style>\n"
						   "svg { font: 12px ui-monospace, Menlo, Consolas, \"DejaVu Sans Mono\", monospace; }\n"
						   "text { fill: #1c1c1c; }\n"
						   ".title { font-size: 17px; font-weight: bold; }\n"
						   ".frame { cursor: pointer; outline: none; overflow: hidden; }\n"
						   ".frame rect { stroke: #fff; stroke-width: 0.6; }\n"
						   ".frame:hover > rect, .frame:focus > rect { stroke: #000; stroke-width: 2.5; }\n"
						   ".frame.caller { opacity: 0.55; }\n"
						   ".frame.match > rect { fill: #e23ee2; }\n"
						   ".tools { visibility: hidden; }\n"
						   ".scripted .tools { visibility: visible; }\n"
						   "#reset { cursor: pointer; text-decoration: underline; }\n"
						   "</style>\n");
}

/* Search field, matched part, way back; of use with the script only. */
static void
append_tools(StringInfo output)
{
	appendStringInfoString(output,
						   "<g class=\"tools\">\n"
						   "<foreignObject x=\"10\" y=\"74\" width=\"210\" height=\"26\">"
						   "<input xmlns=\"http://www.w3.org/1999/xhtml\" id=\"search\" type=\"search\" placeholder=\"Search\" aria-label=\"Search\" style=\"width: 190px\"/>"
						   "</foreignObject>\n"
						   "<text id=\"matched\" x=\"230\" y=\"90\"></text>\n"
						   "<text id=\"reset\" x=\"380\" y=\"90\" tabindex=\"0\" role=\"button\" style=\"display: none\">Reset zoom</text>\n"
						   "</g>\n");
}

/*
 * Append the picture, if wanted with memory contexts and statements as the
 * first levels.
 */
void
plh_flamegraph_append(StringInfo output, const PlhSiteList *list,
					  bool with_context, bool with_query)
{
	HASHCTL		control = {
		.keysize = sizeof(NodeKey),
		.entrysize = sizeof(NodeEntry),
		.hash = hash_key,
		.match = compare_keys,
		.hcxt = CurrentMemoryContext
	};
	Picture		picture = {.output = output, .list = list};
	int			height;

	picture.nodes = hash_create("pg_leakhunt flame graph", 4096, &control,
								HASH_ELEM | HASH_FUNCTION | HASH_COMPARE |
								HASH_CONTEXT);
	picture.root = make_node(NULL, "all");
	for (int i = 0; i < list->count; i++)
		add_site(&picture, &list->sites[i], with_context, with_query);
	sort_children(picture.root);
	choose_min_width(&picture);
	merge_narrow(&picture, picture.root, 0);

	height = HEADER_HEIGHT + (picture.depth + 1) * ROW_HEIGHT + FOOTER_HEIGHT;
	appendStringInfo(output,
					 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100%%\" height=\"%d\" style=\"background: #fff; min-width: 600px\">\n",
					 height);
	append_style(output);
	append_facts(&picture);
	append_tools(output);
	append_frame(&picture, picture.root, 0, 0);
	append_legend(&picture);
	appendStringInfoString(output,
						   "<text id=\"details\" x=\"10\" y=\"114\"></text>\n");
	appendStringInfo(output, "<script><![CDATA[\n%s]]></script>\n</svg>\n",
					 flamegraph_script);
}
