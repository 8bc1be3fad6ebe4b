/*
 * call_tree.h
 *	  Merges a list of sites into a tree of callers and callees, for flame graphs.
 *
 * A tree belongs to the current memory context, and refers to texts of its list.  Never called
 * inside palloc.
 */
#pragma once

#include "report/blamed_code.h"
#include "report/site_list.h"

/* A function that is called by its parent; or a memory context or statement. */
typedef struct PlhCallNode
{
	struct PlhCallNode *parent;
	struct PlhCallNode *first_child;
	struct PlhCallNode *next;	/* next child of the parent, the widest first;
								 * the merged one is last */
	const char *name;
	const char *module;			/* NULL for the root, contexts, statements,
								 * and frames that say why there is no stack */
	PlhCodePart part;			/* of the server, that it belongs to */
	const char *file;			/* source of the line below; NULL = unknown */
	int			line;			/* 0 = unknown, or several lines */
	int64		width;			/* sum of |bytes| of the sites below, >= 0 */
	int64		bytes;			/* live bytes, or their growth */
	int64		count;
	int64		samples;
	double		variance;
	int			depth;			/* 0 for the root */
	bool		drawn;			/* false: to be merged with its siblings */
} PlhCallNode;

typedef struct PlhCallTree
{
	PlhCallNode *root;
	int			depth;			/* of the deepest node */
	int			frames;			/* number before merging, with the root */
	int			merged;			/* number of frames that were merged */
} PlhCallTree;

/*
 * The tree of a list, if wanted with memory contexts and statements as the first levels.  It has at
 * most "max_nodes" nodes, 2 or more: half of them are chosen to be drawn, since each may get one
 * more child for those that are merged.
 */
extern PlhCallTree *plh_call_tree_make(const PlhSiteList *list, bool with_context, bool with_query,
									   int max_nodes);
