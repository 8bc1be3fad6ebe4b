/*
 * context_blocks.h
 *	  Tells apart what memory contexts take from malloc, and what others do.
 *
 * plh_context_blocks_has may be called inside malloc; the other functions are called when
 * pg_leakhunt is loaded, and may throw "out of memory".
 */
#pragma once

extern void plh_context_blocks_probe(void);
extern void plh_context_blocks_note(const void *caller);
extern int	plh_context_blocks_count(void);
extern bool plh_context_blocks_has(const void *caller);
