/*
 * node_name.c
 *	  What the server calls its types of nodes.
 */
#include "postgres.h"

#include "nodes/nodes.h"

#include "proof/node_name.h"

/* By tag.  The file is made of the server's headers. */
static const char *const names[] = {
#define NODE_NAME(name) [T_##name] = #name,
#include "proof/node_names.h"
#undef NODE_NAME
};

const char *
plh_node_name(uint32 tag)
{
	return tag < lengthof(names) ? names[tag] : NULL;
}
