/*
 * flamegraph.c
 *	  Draws a list of sites as an interactive SVG, or writes folded stacks for other tools.
 *
 * The outermost function is at the top, so that one deep stack does not push wide frames out of the
 * window.  Frames that all stacks begin with are drawn as one.  src/report/README says more.
 *
 * Of folded stacks each is a line: its functions from the outermost on with ";" between them, a
 * blank, and the bytes.  Growth is two figures, the bytes before and the bytes after.
 */
#include "postgres.h"

#include <math.h>

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "base/plural.h"
#include "base/sampling.h"
#include "reader/database_text.h"
#include "report/blamed_code.h"
#include "report/call_tree.h"
#include "report/death_text.h"
#include "report/flamegraph.h"
#include "report/text_numbers.h"
#include "report/one_line.h"
#include "report/words.h"

#include "report/flamegraph_script.h"
#include "report/flamegraph_style.h"

#define ROW_HEIGHT 18
#define MARGIN 10

/* The header has facts, legend, tools and details, and fits this width. */
#define MIN_WIDTH 600
#define LEGEND_TOP 73
#define LEGEND_TEXT_X 17		/* from the start of an entry */
#define LEGEND_GAP 16
#define LETTER_WIDTH 7
#define TOOLS_HEIGHT 51

/* Largest number of frames in a picture; narrower ones are merged. */
#define MAX_FRAMES 5000

/* Names are cut at this length: no window shows more of one. */
#define MAX_NAME_BYTES 200

/*
 * From this number on, frames that all stacks begin with are drawn as one.  Where there is one
 * stack only, its innermost frames are left as they are.
 */
#define LEAST_TRUNK 4
#define INNERMOST 6

/* The most characters of a statement in the title. */
#define STATEMENT_COLUMNS 120

/* A picture that is being drawn. */
typedef struct Picture
{
	StringInfo	output;
	const PlhSiteList *list;
	const PlhCallTree *tree;
	bool		has_part[PLH_CODE_PARTS];
	const PlhCallNode *trunk;	/* the last of the frames that are one */
	int			folded;			/* by how many rows the others move up */
	int			legend_x;		/* start of the next entry of the legend */
	int			legend_y;
	int			frames_y;		/* top of the frames */
	const char *crash;			/* of its process, as text; or NULL */
	const char *statement;		/* that most was allocated by; or NULL */
} Picture;

static char *
signed_size(int64 bytes, bool growth)
{
	return psprintf("%s%s", growth && bytes > 0 ? "+" : "", plh_words_size(bytes));
}

/*
 * The fill of a frame: that of its part of the server; or red has grown, blue has shrunk, and where
 * both nearly cancel, it is pale.
 */
static const char *
node_fill(const Picture *picture, const PlhCallNode *node)
{
	double		part = node->width == 0 ? 0 : (double) node->bytes / node->width;
	int			pale = 235 - (int) (150 * fabs(part));

	if (!picture->list->growth)
		return psprintf(" class=\"p%d\"", (int) node->part);
	return part >= 0 ? psprintf(" fill=\"#f0%02x%02x\"", pale, pale) :
		psprintf(" fill=\"#%02x%02xf5\"", pale, pale);
}

/* The name of a frame; of those that are one, of the first and the last. */
static const char *
node_name(const Picture *picture, const PlhCallNode *node)
{
	if (node != picture->trunk)
		return node->name;
	return psprintf("%s ... %s (%d frames)", picture->tree->root->first_child->name,
					node->name, picture->folded + 1);
}

static void
append_tooltip(Picture *picture, const PlhCallNode *node)
{
	bool		growth = picture->list->growth;
	double		error = plh_sampling_error_bytes(node->variance, node->bytes, node->samples);
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoString(&text, node_name(picture, node));
	if (node != picture->trunk && node->line > 0 && node->file != NULL)
		appendStringInfo(&text, " (%s:%d)", plh_stack_text_base_name(node->file), node->line);
	appendStringInfo(&text, "\n%s", signed_size(node->bytes, growth));
	if (!picture->list->peak)
		appendStringInfo(&text, " in %lld %s", (long long) node->count,
						 plh_plural(node->count, "object", "objects"));
	appendStringInfo(&text, ", %.2f%%", 100.0 * node->width / Max(picture->tree->root->width, 1));
	if (!growth && !picture->list->peak && error > 0)
		appendStringInfo(&text, ", +/- %s", plh_words_size((int64) error));
	if (node->module != NULL)
		appendStringInfo(&text, "\n%s", node->module);
	plh_database_text_append_markup(picture->output, text.data);
}

/*
 * Append a frame that begins at x, in bytes, and below it the functions that it calls.  data-x and
 * data-end tell the script the start and end in bytes: it shows a frame with its parent if it lies
 * within the parent, and rounded figures might not.
 */
static void
append_frame(Picture *picture, const PlhCallNode *node, int64 x)
{
	double		total = Max(picture->tree->root->width, 1);
	int			row = node->depth - picture->folded;
	const char *name = node_name(picture, node);

	CHECK_FOR_INTERRUPTS();
	check_stack_depth();
	appendStringInfo(picture->output,
					 "<svg class=\"frame\" x=\"%.4f%%\" y=\"%d\" width=\"%.4f%%\" height=\"%d\" data-x=\"%lld\" data-end=\"%lld\" data-d=\"%d\" tabindex=\"-1\"><title>",
					 100.0 * x / total, picture->frames_y + row * ROW_HEIGHT,
					 100.0 * node->width / total, ROW_HEIGHT - 1, (long long) x,
					 (long long) (x + node->width), row);
	append_tooltip(picture, node);
	appendStringInfo(picture->output,
					 "</title><rect width=\"100%%\" height=\"100%%\"%s/><text x=\"4\" y=\"13\">",
					 node_fill(picture, node));
	name = pnstrdup(name, pg_mbcliplen(name, strlen(name), MAX_NAME_BYTES));
	plh_database_text_append_markup(picture->output, name);
	appendStringInfoString(picture->output, "</text></svg>\n");
	for (const PlhCallNode *child = node->first_child; child != NULL; child = child->next)
	{
		append_frame(picture, child, x);
		x += child->width;
	}
}

/* What the picture is of: as a title, and as the first line. */
static const char *
title_of(const Picture *picture)
{
	const PlhSiteList *list = picture->list;

	return psprintf("%s: %s %s", plh_site_list_title(list),
					signed_size(picture->tree->root->bytes, list->growth),
					list->growth ? "of growth" :
					!list->peak ? "live" :
					list->merged != NULL ? "at their peaks" :
					"at its peak");
}

static void
append_line(Picture *picture, const char *class, int y, const char *text)
{
	appendStringInfo(picture->output, "<text class=\"%s\" x=\"10\" y=\"%d\">", class, y);
	plh_database_text_append_markup(picture->output, text);
	appendStringInfoString(picture->output, "</text>\n");
}

/* Where to read of names that are missing; "" where each call site has one. */
static const char *
names_text(const PlhSiteList *list)
{
	for (int i = 0; i < list->count; i++)
		if (list->sites[i].has_stack && plh_blamed_code_nameless(&list->sites[i].stack) != NULL)
			return "; pg_leakhunt_symbols says how to see names that are missing";
	return "";
}

static void
append_facts(Picture *picture)
{
	const PlhSiteList *list = picture->list;
	const PlhCallTree *tree = picture->tree;
	int			y = 62;

	append_line(picture, "title", 24, title_of(picture));
	append_line(picture, "fact", 44, psprintf("%s%s", list->peak ? "" :
											  psprintf("%lld %s, ", (long long) tree->root->count,
													   plh_plural(tree->root->count, "object", "objects")),
											  timestamptz_to_str(list->at)));
	append_line(picture, "fact", y, psprintf("%s, %s%s%s", plh_site_list_interval(list),
											 plh_site_list_scope(list), tree->merged == 0 ? "" :
											 psprintf("; %d narrow %s of %d %s merged", tree->merged,
													  plh_plural(tree->merged, "frame", "frames"),
													  tree->frames,
													  plh_plural(tree->merged, "is", "are")),
											 names_text(list)));
	if (picture->crash != NULL)
		append_line(picture, "fact", y += ROW_HEIGHT, picture->crash);
	if (picture->statement != NULL)
		append_line(picture, "fact", y + ROW_HEIGHT,
					psprintf("Most of it by: %s", picture->statement));
}

/* Append a colour and its meaning, on the next line if this one is full. */
static void
append_legend_entry(Picture *picture, const char *fill, const char *text)
{
	StringInfo	output = picture->output;
	int			width = LEGEND_TEXT_X + LETTER_WIDTH * strlen(text);

	if (picture->legend_x > MARGIN && picture->legend_x + width > MIN_WIDTH)
	{
		picture->legend_x = MARGIN;
		picture->legend_y += ROW_HEIGHT;
	}
	appendStringInfo(output,
					 "<g class=\"entry\" transform=\"translate(%d %d)\"><rect width=\"12\" height=\"12\" %s/><text x=\"%d\" y=\"10\">",
					 picture->legend_x, picture->legend_y, fill, LEGEND_TEXT_X);
	plh_database_text_append_markup(output, text);
	appendStringInfoString(output, "</text></g>\n");
	picture->legend_x += width + LEGEND_GAP;
}

/* Note the parts of the server that frames are of. */
static void
note_parts(Picture *picture, const PlhCallNode *node)
{
	check_stack_depth();
	if (node->parent != NULL)
		picture->has_part[node->part] = true;
	for (const PlhCallNode *child = node->first_child; child != NULL; child = child->next)
		note_parts(picture, child);
}

static void
append_legend(Picture *picture)
{
	if (picture->list->growth)
	{
		append_legend_entry(picture, "fill=\"#f05555\"", "grew");
		append_legend_entry(picture, "fill=\"#5555f5\"", "shrank");
		append_legend_entry(picture, "fill=\"#f0ebeb\"", "grew and shrank by similar amounts");
		return;
	}
	for (PlhCodePart part = PLH_CODE_NONE + 1; part < PLH_CODE_PARTS; part++)
		if (picture->has_part[part])
			append_legend_entry(picture, psprintf("class=\"p%d\"", (int) part),
								plh_blamed_code_part_name(part));
}

/* Find the frames that all stacks begin with, and that lead to others. */
static void
find_trunk(Picture *picture)
{
	const PlhCallNode *node = picture->tree->root;

	while (node->first_child != NULL && node->first_child->next == NULL &&
		   node->first_child->width == node->width)
		node = node->first_child;
	if (node->first_child == NULL)
		for (int i = 0; i < INNERMOST && node->parent != NULL; i++)
			node = node->parent;
	if (node->depth + 1 < LEAST_TRUNK)
		return;
	picture->trunk = node;
	picture->folded = node->depth;
}

/* The statement that most was allocated by, in one line; NULL if none was running. */
static const char *
largest_statement(const PlhSiteList *list)
{
	PlhTextNumbers *numbers = plh_text_numbers_make();
	int64	   *sums = palloc0(sizeof(int64) * (list->count + 1));
	int64		most = 0;
	const char *found = NULL;

	for (int i = 0; i < list->count; i++)
	{
		const PlhListedSite *listed = &list->sites[i];
		int64	   *sum;
		bool		is_new;

		if (listed->query == NULL)
			continue;
		sum = &sums[plh_text_numbers_add(numbers, listed->query, &is_new)->number];
		*sum += llabs(plh_listed_site_bytes(listed));
		if (*sum > most)
		{
			most = *sum;
			found = listed->query;
		}
	}
	return found == NULL ? NULL : plh_one_line(found, STATEMENT_COLUMNS);
}

/*
 * Append the tools between the legend and the frames: search field, matched part, "Reset zoom",
 * which the style shows only if the script runs, and a line for details.
 */
static void
append_tools(Picture *picture)
{
	int			y = picture->frames_y - TOOLS_HEIGHT;

	appendStringInfo(picture->output, "<g class=\"tools\">\n"
					 "<foreignObject x=\"10\" y=\"%d\" width=\"210\" height=\"26\">"
					 "<input xmlns=\"http://www.w3.org/1999/xhtml\" id=\"search\" type=\"search\" placeholder=\"Search\" aria-label=\"Search\" style=\"width: 190px\"/>"
					 "</foreignObject>\n"
					 "<text id=\"matched\" x=\"230\" y=\"%d\"></text>\n"
					 "<text id=\"reset\" x=\"380\" y=\"%d\" tabindex=\"0\" role=\"button\" style=\"display: none\">Reset zoom</text>\n"
					 "</g>\n"
					 "<text id=\"details\" x=\"10\" y=\"%d\"></text>\n",
					 y, y + 16, y + 16, y + 40);
}

void
plh_flamegraph_append(StringInfo output, const PlhSiteList *list,
					  bool with_context, bool with_query)
{
	StringInfoData legend;
	Picture		picture = {
		.output = &legend,
		.list = list,
		.legend_x = MARGIN,
		.legend_y = LEGEND_TOP,
		.crash = plh_death_text_of_crash(list->image),
		.statement = largest_statement(list)
	};

	picture.legend_y += ROW_HEIGHT * ((picture.crash != NULL) + (picture.statement != NULL));
	picture.tree = plh_call_tree_make(list, with_context, with_query, MAX_FRAMES);
	find_trunk(&picture);
	initStringInfo(&legend);
	note_parts(&picture, picture.tree->root);
	append_legend(&picture);

	picture.output = output;
	picture.frames_y = picture.legend_y + ROW_HEIGHT + TOOLS_HEIGHT;
	appendStringInfo(output,
					 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100%%\" height=\"%d\">\n<title>",
					 picture.frames_y +
					 (picture.tree->depth + 1 - picture.folded) * ROW_HEIGHT + MARGIN);
	plh_database_text_append_markup(output, picture.statement == NULL ?
									psprintf("pg_leakhunt, %s", title_of(&picture)) :
									psprintf("pg_leakhunt, %s: %s", title_of(&picture), picture.statement));
	/* a phone would show the picture as wide as a desk */
	appendStringInfoString(output, "</title>\n<meta xmlns=\"http://www.w3.org/1999/xhtml\" name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n");
	appendStringInfo(output, "<style>\n%s</style>\n", flamegraph_style);
	append_facts(&picture);
	appendStringInfoString(output, legend.data);
	append_tools(&picture);
	append_frame(&picture, picture.trunk != NULL ? picture.trunk : picture.tree->root, 0);
	appendStringInfo(output, "<script><![CDATA[\n%s]]></script>\n</svg>\n", flamegraph_script);
}

/* A line of folded stacks, before it is written. */
typedef struct FoldedLine
{
	const char *stack;
	int64		bytes;
	int64		old_bytes;
} FoldedLine;

/* Append a name, without the characters that would end it or its line. */
static void
append_name(StringInfo stack, const char *name)
{
	if (stack->len > 0)
		appendStringInfoChar(stack, ';');
	for (; *name != '\0'; name++)
	{
		if (*name == ';')
			appendStringInfoChar(stack, ':');
		else if ((unsigned char) *name < ' ' || *name == 0x7F)
			appendStringInfoChar(stack, ' ');
		else
			appendStringInfoChar(stack, *name);
	}
}

/* Make the text of a site's stack in a buffer.  Returns a copy of it. */
static const char *
fold_stack(StringInfo stack, const PlhListedSite *listed, bool with_context, bool with_query)
{
	resetStringInfo(stack);
	if (with_context)
		append_name(stack, plh_listed_site_context(listed));
	if (with_query)
		append_name(stack, plh_listed_site_statement(listed));
	for (int i = listed->stack.frame_count - 1; i >= 0; i--)
		append_name(stack, plh_stack_text_function_name(&listed->stack.frames[i]));
	return pnstrdup(stack->data, stack->len);
}

static int
compare_lines(const void *a, const void *b)
{
	return strcmp(((const FoldedLine *) a)->stack, ((const FoldedLine *) b)->stack);
}

void
plh_flamegraph_append_folded(StringInfo output, const PlhSiteList *list,
							 bool with_context, bool with_query)
{
	FoldedLine *lines = palloc(sizeof(FoldedLine) * Max(list->count, 1));
	StringInfoData stack;
	int			last = 0;

	if (list->count == 0)
		return;
	initStringInfo(&stack);
	for (int i = 0; i < list->count; i++)
	{
		const PlhListedSite *listed = &list->sites[i];

		CHECK_FOR_INTERRUPTS();
		lines[i] = (FoldedLine)
		{
			fold_stack(&stack, listed, with_context, with_query), listed->bytes, listed->old_bytes
		};
	}
	qsort(lines, list->count, sizeof(FoldedLine), compare_lines);
	for (int i = 1; i < list->count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (strcmp(lines[i].stack, lines[last].stack) != 0)
			lines[++last] = lines[i];
		else
		{
			lines[last].bytes += lines[i].bytes;
			lines[last].old_bytes += lines[i].old_bytes;
		}
	}
	for (int i = 0; i <= last; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (lines[i].bytes == 0 && lines[i].old_bytes == 0)
			continue;
		appendStringInfo(output, "%s ", lines[i].stack);
		if (list->growth)
			appendStringInfo(output, "%lld ", (long long) lines[i].old_bytes);
		appendStringInfo(output, "%lld\n", (long long) lines[i].bytes);
	}
}
