/*
 * flamegraph.c
 *	  Draws a list of sites: one interactive SVG that needs no other file.
 *
 * The outermost function is at the top, so that one deep stack does not push
 * wide frames out of the window.
 *
 * Each frame is an <svg> element of its own, placed in percent.  So even
 * without a script the picture is as wide as its window, and names are cut at
 * the edges of their frames.  The script (flamegraph.js) zooms and searches.
 *
 * The text of the picture is ASCII, with character references for the rest: no
 * name can end its element, and the client's encoding does not matter.
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

/* Number of modules that have a colour and an entry in the legend. */
#define MAX_LEGEND 8

/* A picture that is being drawn. */
typedef struct Picture
{
	StringInfo	output;
	const PlhSiteList *list;
	const PlhCallTree *tree;
	const char *modules[MAX_LEGEND];
	int			module_count;
	int			legend_x;		/* start of the next entry of the legend */
	int			legend_y;
	int			frames_y;		/* top of the frames */
	const char *crash;			/* of its process, as text; or NULL */
} Picture;

/* Append text as XML in ASCII. */
static void
append_xml(StringInfo output, const char *text)
{
	const unsigned char *c = (const unsigned char *) plh_database_text_to_utf8(text);

	while (*c != '\0')
	{
		pg_wchar	code = utf8_to_unicode(c);

		/* XML 1.0 cannot express control characters, even as references */
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

/* Make the text of a size; growth has a sign. */
static char *
signed_size(int64 bytes, bool growth)
{
	return psprintf("%s%s", growth && bytes > 0 ? "+" : "",
					plh_words_size(bytes));
}

/*
 * Find the place of a module in the legend, or give it one.  Returns
 * MAX_LEGEND if there is no room.
 */
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

/* Colours of modules by place in the legend; the last is for all others. */
static const char *const module_colours[MAX_LEGEND + 1] = {
	"#f2a65a", "#7fb7e8", "#9bd18b", "#e58b8b", "#c6a6e8", "#e8d26a",
	"#8fd3cf", "#e8a9cf", "#c9c9c9"
};

/*
 * Red has grown, blue has shrunk; where both nearly cancel, the colour is
 * pale.
 */
static char *
growth_colour(const PlhCallNode *node)
{
	double		part = node->width == 0 ? 0 : (double) node->bytes / node->width;
	int			pale = 235 - (int) (150 * fabs(part));

	if (part >= 0)
		return psprintf("#%02x%02x%02x", 240, pale, pale);
	return psprintf("#%02x%02x%02x", pale, pale, 245);
}

/* The colour of a frame: how it grew, or else its module. */
static const char *
node_colour(Picture *picture, const PlhCallNode *node)
{
	if (picture->list->growth)
		return growth_colour(node);
	if (node->module == NULL)
		return "#dcdcdc";
	return module_colours[module_number(picture, node->module)];
}

/* Append the text that is shown when the pointer is on the frame. */
static void
append_tooltip(Picture *picture, const PlhCallNode *node)
{
	bool		growth = picture->list->growth;
	double		error = plh_sampling_error_bytes(node->variance, node->bytes,
												 node->samples);
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoString(&text, node->name);
	if (node->line > 0 && node->file != NULL)
		appendStringInfo(&text, " (%s:%d)",
						 plh_stack_text_base_name(node->file), node->line);
	appendStringInfo(&text, "\n%s", signed_size(node->bytes, growth));
	if (!picture->list->peak)
		appendStringInfo(&text, " in %lld %s", (long long) node->count,
						 plh_plural(node->count, "object", "objects"));
	appendStringInfo(&text, ", %.2f%%",
					 100.0 * node->width / Max(picture->tree->root->width, 1));
	if (!growth && !picture->list->peak && error > 0)
		appendStringInfo(&text, ", +/- %s", plh_words_size((int64) error));
	if (node->module != NULL)
		appendStringInfo(&text, "\n%s", node->module);
	append_xml(picture->output, text.data);
}

/*
 * Append a frame that begins at x, in bytes, and below it the functions that
 * it calls.  data-x and data-end tell the script the start and end in bytes:
 * it shows a frame with its parent if it lies within the parent, and rounded
 * figures might not.
 */
static void
append_frame(Picture *picture, const PlhCallNode *node, int64 x)
{
	double		total = Max(picture->tree->root->width, 1);
	int			y = picture->frames_y + node->depth * ROW_HEIGHT;

	CHECK_FOR_INTERRUPTS();
	check_stack_depth();
	appendStringInfo(picture->output,
					 "<svg class=\"frame\" x=\"%.4f%%\" y=\"%d\" width=\"%.4f%%\" height=\"%d\" data-x=\"%lld\" data-end=\"%lld\" data-d=\"%d\" tabindex=\"-1\"><title>",
					 100.0 * x / total, y, 100.0 * node->width / total,
					 ROW_HEIGHT - 1, (long long) x, (long long) (x + node->width),
					 node->depth);
	append_tooltip(picture, node);
	appendStringInfo(picture->output,
					 "</title><rect width=\"100%%\" height=\"100%%\" fill=\"%s\"/><text x=\"4\" y=\"13\">",
					 node_colour(picture, node));
	append_xml(picture->output,
			   pnstrdup(node->name, pg_mbcliplen(node->name, strlen(node->name),
												 MAX_NAME_BYTES)));
	appendStringInfoString(picture->output, "</text></svg>\n");
	for (const PlhCallNode *child = node->first_child; child != NULL;
		 child = child->next)
	{
		append_frame(picture, child, x);
		x += child->width;
	}
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

/* Append the facts above the picture. */
static void
append_facts(Picture *picture)
{
	const PlhSiteList *list = picture->list;
	StringInfo	output = picture->output;

	appendStringInfoString(output, "<text class=\"title\" x=\"10\" y=\"24\">");
	append_xml(output, psprintf("%s: %s %s", plh_site_list_title(list),
								signed_size(picture->tree->root->bytes, list->growth),
								list->growth ? "of growth" :
								!list->peak ? "live" :
								list->merged != NULL ? "at their peaks" :
								"at its peak"));
	appendStringInfoString(output, "</text>\n<text x=\"10\" y=\"44\">");
	if (!list->peak)
		appendStringInfo(output, "%lld %s, ",
						 (long long) picture->tree->root->count,
						 plh_plural(picture->tree->root->count, "object", "objects"));
	append_xml(output, timestamptz_to_str(list->at));
	appendStringInfoString(output, "</text>\n<text x=\"10\" y=\"62\">");
	append_xml(output, psprintf("%s, %s%s%s", plh_site_list_interval(list),
								plh_site_list_scope(list),
								picture->tree->merged > 0 ?
								psprintf("; %d narrow %s of %d %s merged",
										 picture->tree->merged,
										 plh_plural(picture->tree->merged, "frame", "frames"),
										 picture->tree->frames,
										 plh_plural(picture->tree->merged, "is", "are")) : "",
								names_text(list)));
	appendStringInfoString(output, "</text>\n");
	if (picture->crash == NULL)
		return;
	appendStringInfoString(output, "<text x=\"10\" y=\"80\">");
	append_xml(output, picture->crash);
	appendStringInfoString(output, "</text>\n");
}

/* Append a colour and its meaning, on the next line if this one is full. */
static void
append_legend_entry(Picture *picture, const char *colour, const char *text)
{
	StringInfo	output = picture->output;
	int			width = LEGEND_TEXT_X + LETTER_WIDTH * strlen(text);

	if (picture->legend_x > MARGIN && picture->legend_x + width > MIN_WIDTH)
	{
		picture->legend_x = MARGIN;
		picture->legend_y += ROW_HEIGHT;
	}
	appendStringInfo(output,
					 "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"%d\" y=\"%d\">",
					 picture->legend_x, picture->legend_y, colour,
					 picture->legend_x + LEGEND_TEXT_X, picture->legend_y + 10);
	append_xml(output, text);
	appendStringInfoString(output, "</text>\n");
	picture->legend_x += width + LEGEND_GAP;
}

/* Give modules places in the legend, in the order in which frames come. */
static void
number_modules(Picture *picture, const PlhCallNode *node)
{
	check_stack_depth();
	if (node->module != NULL)
		(void) module_number(picture, node->module);
	for (const PlhCallNode *child = node->first_child; child != NULL;
		 child = child->next)
		number_modules(picture, child);
}

/* Append the legend of the colours. */
static void
append_legend(Picture *picture)
{
	if (picture->list->growth)
	{
		append_legend_entry(picture, "#f05555", "grew");
		append_legend_entry(picture, "#5555f5", "shrank");
		append_legend_entry(picture, "#f0ebeb", "both, about as much");
		return;
	}
	for (int i = 0; i < picture->module_count; i++)
		append_legend_entry(picture, module_colours[i], picture->modules[i]);
	if (picture->module_count == MAX_LEGEND)
		append_legend_entry(picture, module_colours[MAX_LEGEND], "others");
}

/*
 * Append the tools between the legend and the frames: search field, matched
 * part, "Reset zoom", which the style shows only if the script runs, and a
 * line for details.
 */
static void
append_tools(Picture *picture)
{
	int			y = picture->frames_y - TOOLS_HEIGHT;

	appendStringInfo(picture->output,
					 "<g class=\"tools\">\n"
					 "<foreignObject x=\"10\" y=\"%d\" width=\"210\" height=\"26\">"
					 "<input xmlns=\"http://www.w3.org/1999/xhtml\" id=\"search\" type=\"search\" placeholder=\"Search\" aria-label=\"Search\" style=\"width: 190px\"/>"
					 "</foreignObject>\n"
					 "<text id=\"matched\" x=\"230\" y=\"%d\"></text>\n"
					 "<text id=\"reset\" x=\"380\" y=\"%d\" tabindex=\"0\" role=\"button\" style=\"display: none\">Reset zoom</text>\n"
					 "</g>\n"
					 "<text id=\"details\" x=\"10\" y=\"%d\"></text>\n",
					 y, y + 16, y + 16, y + 40);
}

/*
 * Append the picture of a list, if wanted with memory contexts and statements
 * as the first levels.
 */
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
		.crash = plh_death_text_of_crash(list->image)
	};

	if (picture.crash != NULL)
		picture.legend_y += ROW_HEIGHT;
	picture.tree = plh_call_tree_make(list, with_context, with_query,
									  MAX_FRAMES);
	initStringInfo(&legend);
	number_modules(&picture, picture.tree->root);
	append_legend(&picture);

	picture.output = output;
	picture.frames_y = picture.legend_y + ROW_HEIGHT + TOOLS_HEIGHT;
	appendStringInfo(output,
					 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100%%\" height=\"%d\" style=\"background: #fff; min-width: %dpx\">\n",
					 picture.frames_y +
					 (picture.tree->depth + 1) * ROW_HEIGHT + MARGIN, MIN_WIDTH);
	appendStringInfo(output, "<style>\n%s</style>\n", flamegraph_style);
	append_facts(&picture);
	appendStringInfoString(output, legend.data);
	append_tools(&picture);
	append_frame(&picture, picture.tree->root, 0);
	appendStringInfo(output, "<script><![CDATA[\n%s]]></script>\n</svg>\n",
					 flamegraph_script);
}
