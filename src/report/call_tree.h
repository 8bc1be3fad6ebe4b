/*
 * call_tree.h
 *	  A list of call sites merged into a tree of who calls whom: what a flame
 *	  graph is drawn from.
 *
 * A tree belongs to the memory context in which it was made, and refers to its
 * list.  Never called inside palloc.
 */
#ifndef PLH_CALL_TREE_H
#define PLH_CALL_TREE_H

#include "report/site_list.h"

/* A function, called by its parent; or a memory context, or a statement. */
typedef struct PlhCallNode
{
	struct PlhCallNode *parent;
	struct PlhCallNode *first_child;
	struct PlhCallNode *next;	/* of the same parent, the widest first; last
								 * is what was merged */
	const char *name;
	const char *module;			/* NULL for the root, contexts, queries, and
								 * what is said where no stack is known */
	const char *file;			/* where it is called from there; NULL =
								 * unknown */
	int			line;			/* 0 = not known, or several */
	int64		width;			/* sum of |bytes| of the sites below, >= 0 */
	int64		bytes;			/* live, or growth */
	int64		count;
	int64		samples;
	double		variance;
	int			depth;			/* 0 for the root */
	bool		drawn;			/* not merged into a node "[N narrow frames]" */
} PlhCallNode;

typedef struct PlhCallTree
{
	PlhCallNode *root;
	int			depth;			/* of the deepest node */
	int			frames;			/* that there are, the root included */
	int			merged;			/* so many of these, narrow ones */
} PlhCallTree;

extern PlhCallTree *plh_call_tree_make(const PlhSiteList *list,
									   bool with_context, bool with_query,
									   int max_nodes);

#endif							/* PLH_CALL_TREE_H */
