/*
 * node_name.h
 *	  What the server calls its types of nodes.
 */
#pragma once

/* NULL: there is no such tag. */
extern const char *plh_node_name(uint32 tag);
